import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { expect, it, onTestFinished, vi } from 'vitest';
import { parse } from 'yaml';
import { type FakeAnswer, type SeenRequest, startApiServer } from '../../src/clusters/upstream/api-server.fixture.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { describeWithEtcd, freePorts } from '../conformance/etcd-process.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';
import { type Block, blocksOf, isRun } from './support/blocks.ts';
import { type EtcdWithTls, startEtcdWithTls } from './support/etcd-with-tls.ts';
import { everyCommandWasRun } from './support/every-command.ts';
import { missingLines, PageRunner } from './support/page-runner.ts';

const blocks = blocksOf('docs/first-clusters.md');
const ON_ONE_MACHINE = 'Start it on one machine';
const ON_ETCD = 'Or start it on etcd';
const ENVIRONMENTS = ['dev', 'staging', 'prod'];

const json = (value: object): FakeAnswer => ({
  status: 200,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(value),
});

/** Verifies a pass as kube-apiserver does: with the issuer and the audiences of its authentication file. */
async function review(runner: PageRunner, { headers }: SeenRequest): Promise<FakeAnswer> {
  const file = readFileSync(join(runner.folder, 'authentication-dev-eu-1.yaml'), 'utf8');
  const { url, audiences } = parse(file).jwt[0].issuer as { url: string; audiences: string[] };
  const { output } = await runner.shell(`curl -sf --cacert ca.crt ${url}/openid/v1/jwks`);
  const keys = createLocalJWKSet(JSON.parse(output) as JSONWebKeySet);
  const token = headers.authorization?.replace(/^Bearer /, '') ?? '';
  const { payload } = await jwtVerify(token, keys, { issuer: url, audience: audiences });
  return json({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
    status: { userInfo: { username: payload.sub } },
  });
}

/** Follows the page from its beginning, without the other way to start; on etcd until clusters are registered. */
async function follow(omitted: string, etcd?: EtcdWithTls): Promise<void> {
  const [port] = await freePorts(1);
  const runner = await PageRunner.create(
    (folder) => [
      ['https://clusterpass.example.com:8443', `https://127.0.0.1:${port}`],
      ['DNS:clusterpass.example.com', 'IP:127.0.0.1'],
      ['0.0.0.0:8443', `127.0.0.1:${port}`],
      ['/var/lib/clusterpass', join(folder, 'data')],
      ['10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379', etcd?.endpoints.join(',') ?? ''],
    ],
    // The clusters of the test are on this machine.
    { CLUSTERPASS_CLUSTER_NETWORKS: '127.0.0.0/8', CLUSTERPASS_PROBE_INTERVAL: '1s' },
  );
  const authority = createAuthority('CA of the clusters');
  const answer = (request: SeenRequest): FakeAnswer | Promise<FakeAnswer> => {
    if (request.path === '/version') return json({ gitVersion: 'v1.36.4' });
    if (request.path.startsWith('/api/v1/namespaces/kube-system')) return json({ metadata: { uid: 'a-uid' } });
    if (request.path.includes('/selfsubjectreviews')) return review(runner, request);
    return { status: 200, body: 'ok' };
  };
  const clusters = await Promise.all(
    ENVIRONMENTS.map(() => startApiServer(authority.issue({ names: ['127.0.0.1'] }), answer)),
  );
  try {
    const ca = Buffer.from(authority.cert).toString('base64');
    mkdirSync(join(runner.folder, '.kube'));
    writeFileSync(
      join(runner.folder, '.kube/config'),
      JSON.stringify({
        clusters: ENVIRONMENTS.map((name, i) => ({
          name,
          cluster: { server: `https://127.0.0.1:${clusters[i]?.port}`, 'certificate-authority-data': ca },
        })),
        users: [{ name: 'me', user: { token: 'of-an-administrator' } }],
        contexts: ENVIRONMENTS.map((name) => ({ name, context: { cluster: name, user: 'me' } })),
        'current-context': 'dev',
      }),
    );
    etcd?.writeClientFiles(runner.folder);
    let previous: Block | undefined;
    const followed = blocks.filter(({ section }) => section !== omitted);
    const end =
      etcd === undefined ? undefined : followed.findIndex(({ section }) => section === 'Accounts and permissions');
    for (const block of followed.slice(0, end)) {
      if (block.language === 'text') {
        // The output of the last command above, now or soon.
        const command = runner.localize(previous?.text.trim().split('\n').at(-1) ?? '');
        await vi.waitFor(
          async () => expect(missingLines(block.text, (await runner.shell(command)).output), command).toEqual([]),
          { timeout: 30_000, interval: 500 },
        );
        continue;
      }
      const ran = await runner.run(block);
      if (ran !== undefined) expect(ran.code, `${block.text}\n${ran.output}`).toBe(0);
      if (isRun(block)) previous = block;
    }
    if (etcd !== undefined) return;
    const seen = await runner.shell('clusterpass get clusters -o name');
    expect(seen.output.match(/[\w-]+-eu-1/g), 'as jane').toEqual(['dev-eu-1', 'staging-eu-1']);
  } finally {
    await runner.destroy();
    await Promise.all(clusters.map((cluster) => cluster.close()));
  }
}

describeWithKubectl('docs/first-clusters.md', () => {
  it('has both ways to start', () => {
    for (const way of [ON_ONE_MACHINE, ON_ETCD]) {
      const commands = blocks.filter((block) => block.section === way && isRun(block));
      expect(commands.some(({ text }) => text.startsWith('clusterpass serve'))).toBe(true);
    }
  });

  it('leads to three clusters on one machine', () => follow(ON_ETCD), 120_000);

  describeWithEtcd('with etcd', () => {
    it('registers three clusters on etcd', async () => {
      const etcd = await startEtcdWithTls();
      onTestFinished(() => etcd.destroy());
      await follow(ON_ONE_MACHINE, etcd);
    }, 120_000);

    everyCommandWasRun('docs/first-clusters.md');
  });
});
