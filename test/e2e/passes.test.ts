import { once } from 'node:events';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type AuditEvent, allAuditBytes, auditLogOf, eventsOf, readAudit, securityLogOf } from './support/audit.ts';
import { Person, type Running } from './support/cli.ts';
import { ASK, asUser, bind, createCluster, createObjects, post } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { sharedServer } from './support/shared-server.ts';

/** `/auth/v1/passes`: tokens of many clusters in one request. */

const MAY_SEE = { verbs: ['get', 'list'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] };
const USERPASS = { verbs: ['create'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters/userpass'] };
const PASSES = '/auth/v1/passes';
const BUILDER = { cluster: 'alpha', namespace: 'ci', serviceAccount: 'builder' };
const server = sharedServer();
let log: string;

beforeAll(async () => {
  log = auditLogOf(server);
  await createObjects(server);
  await bind(server, 'jane-tokens', { kind: 'User', name: 'jane' });
  await bind(server, 'jane-as-herself', { kind: 'User', name: 'jane' }, USERPASS);
});

const request = (items: readonly object[], user = 'jane', query = '') =>
  server.call('POST', `${PASSES}${query}`, { ...asUser(user), body: { items } });

/** Other files of the shared server issue tokens too. */
async function countIssued(): Promise<number> {
  const { text } = await server.call('GET', '/metrics');
  return Number(/token_requests_total\{cluster="alpha",result="issued"\} (\d+)/.exec(text)?.[1] ?? 0);
}

const passesIn = ({ annotations }: AuditEvent): { code: number; passes: string }[] =>
  JSON.parse(annotations?.['clusterpass.dev/passes'] ?? '[]');

describe('a list of passes', () => {
  it.each([
    ['short items', 'jane', { cluster: 'alpha', userpass: true }],
    ['refused items', 'nobody', { cluster: 'alpha', userpass: true }],
    ['odd names', 'nobody', { cluster: '\u20ac'.repeat(60), userpass: true }],
    ['accounts', 'jane', BUILDER],
  ])('D6: writes at most four times what was sent into the audit log: %s', async (_, user, item) => {
    const items = Array(200).fill(item);
    const { code, headers } = await request(items, user);
    expect(code).toBe(200);
    const auditId = headers.get('audit-id');
    await eventsOf(log, auditId);
    const lines = (await allAuditBytes(log)).split('\n').filter((line) => line.includes(auditId ?? '?'));
    const written = Buffer.byteLength(lines.join());
    expect(written / Buffer.byteLength(JSON.stringify({ items }))).toBeLessThan(4);
  });

  it('issues each token as a token request would, and records each before it is sent', async () => {
    const issuedBefore = await countIssued();
    const { code, json, headers } = await request([
      BUILDER,
      { ...BUILDER, audiences: ['https://vault.example.com'], expirationSeconds: 900 },
    ]);
    expect([code, json.kind, json.apiVersion]).toEqual([200, 'TokenRequestList', 'clusterpass.dev/v1alpha1']);
    const claims = json.items.map(({ token }: { token: string }) => decodeJwt(token));
    expect(claims.map(({ sub }: { sub: string }) => sub)).toEqual(Array(2).fill('system:serviceaccount:ci:builder'));
    expect(claims[1]).toMatchObject({ aud: ['https://vault.example.com'] });
    expect(claims[1].exp - claims[1].iat).toBe(900);
    expect(json.items[1]).toMatchObject({ ...BUILDER, audiences: ['https://vault.example.com'] });
    // Not polled: the lines are there before the tokens are released.
    const events = (await readAudit(log)).filter(({ auditID }) => auditID === headers.get('audit-id'));
    expect(events).toHaveLength(1);
    expect(passesIn(events[0])).toEqual([
      {
        code: 201,
        annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': expect.any(String) },
        passes: claims.map(({ jti }: { jti: string }) => ` alpha/ci/builder=${jti}`).join(''),
      },
    ]);
    const [{ jti }] = claims;
    const spec = { cluster: 'alpha', user: 'jane', credentialID: jti };
    const body = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'AuditEventReview', spec };
    const review = await server.call('POST', '/apis/clusterpass.dev/v1alpha1/auditeventreviews', { body });
    expect(review.json.status.events).toEqual([
      expect.objectContaining({
        issuedCredentialID: jti,
        cluster: 'alpha',
        namespace: 'ci',
        name: 'builder',
        resource: 'serviceaccounts/token',
        code: 201,
      }),
    ]);
    expect(await countIssued()).toBe(issuedBefore + 2);
  });

  it('has a separate result for each item', async () => {
    const { code, json } = await request([
      { ...BUILDER, serviceAccount: 'missing' },
      { ...BUILDER, cluster: 'no-such' },
      { ...BUILDER, namespace: '../x' },
      { ...BUILDER, expirationSeconds: 1 },
      { cluster: 'alpha' },
      BUILDER,
    ]);
    expect(code).toBe(200);
    expect(json.items.map(({ error }: { error?: { code: number } }) => error?.code)).toEqual([
      404,
      404,
      422,
      422,
      422,
      undefined,
    ]);
    expect(json.items[2].error.message).toContain('items[2].namespace');
    expect(json.items[4].error.message).toContain(
      '[items[4].namespace: Required value, items[4].serviceAccount: Required value]',
    );
    expect(
      json.items.every(
        ({ token, error }: { token?: string; error?: object }) => (token === undefined) !== (error === undefined),
      ),
    ).toBe(true);
  });

  it('has the same errors as single requests for a caller without permission', async () => {
    const { json, headers } = await request([BUILDER, { ...BUILDER, cluster: 'no-such' }], 'nobody');
    const single = await post(server, ASK, asUser('nobody'));
    expect(json.items[0].error).toEqual(single.json);
    expect(json.items[1].error).toEqual(single.json);
    // Lines of rejected requests may be written after the response.
    const refused = async () =>
      (await readAudit(log))
        .filter(({ user }) => user?.username === 'nobody')
        .flatMap((event) => [event.responseStatus?.code, ...passesIn(event).map(({ code, passes }) => [code, passes])]);
    // The list was answered: only its passes were refused.
    await expect
      .poll(refused)
      .toEqual(expect.arrayContaining([200, [403, ' alpha/ci/builder no-such/ci/builder'], 403]));
    expect(await readFile(securityLogOf(log), 'utf8')).not.toContain(headers.get('audit-id'));
  });

  it('issues passes for the caller itself, where it may have them', async () => {
    const me = { cluster: 'alpha', userpass: true };
    const { json } = await request([me, BUILDER, { ...me, namespace: 'ci' }, { ...me, audiences: ['x'] }]);
    const [own, account, ...wrong] = json.items;
    expect(decodeJwt(own.token)).toMatchObject({ sub: 'jane', aud: [`${server.url}/orchestrator/alpha/people`] });
    expect([own.userpass, own.serviceAccount, account.serviceAccount]).toEqual([true, undefined, 'builder']);
    expect(wrong.map(({ error }: { error: { code: number } }) => error.code)).toEqual([422, 422]);
    const refused = await request([me], 'nobody');
    expect(refused.json.items[0]).toMatchObject({ ...me, error: { code: 403 } });
  });

  it('predicts with dryRun', async () => {
    const { json } = await request([BUILDER, { ...BUILDER, serviceAccount: 'missing' }], 'jane', '?dryRun=All');
    expect([json.items[0].token, json.items[1].error.code]).toEqual(['', 404]);
  });
});

describe('clusterpass exec', () => {
  let jane: Person;
  const EXEC = ['exec', '-l', 'exec=yes', '--as', 'ci/builder'];

  beforeAll(async () => {
    jane = await Person.as(server, 'jane');
    await bind(server, 'jane-sees', { kind: 'User', name: 'jane' }, MAY_SEE);
    await createCluster(server, 'empty');
    for (const name of ['alpha', 'empty']) {
      const orchestratorApiEndpoints = {
        serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: `https://${name}.example.com` }],
      };
      const body = { metadata: { labels: { exec: 'yes' } }, spec: { orchestratorApiEndpoints } };
      expect((await server.call('PATCH', `${CLUSTERS}/${name}`, { body })).code).toBe(200);
    }
  });

  it('runs a command for each cluster, with a kubeconfig for it, and says which failed', async () => {
    const script = 'stat -c "%a $CLUSTERPASS_CLUSTER" "$KUBECONFIG"; cat "$KUBECONFIG"; echo; echo oops >&2';
    const waits: (() => string)[] = [];
    const begun: string[] = [];
    const onWait = (what: () => string) => {
      if (what().includes('clusters')) begun.push(what());
      waits.push(what);
    };
    const { code, stdout, stderr } = await jane.run([...EXEC, '--', 'sh', '-c', script], { onWait });
    expect(begun).toEqual(['2 of 2 clusters']);
    expect(waits.map((what) => what())).toContain('0 of 2 clusters');
    const [mode, file = ''] = stdout.split('\n').filter((line) => line.startsWith('alpha: '));
    expect(mode).toBe('alpha: 600 alpha');
    const kubeconfig = JSON.parse(file.slice('alpha: '.length));
    expect(kubeconfig.clusters[0].cluster.server).toBe('https://alpha.example.com');
    expect(decodeJwt(kubeconfig.users[0].user.token).sub).toBe('system:serviceaccount:ci:builder');
    expect(stderr).toContain('alpha: oops\n');
    expect(stderr).toMatch(/^error: empty: no token: .*not found\n1 of 2 clusters failed\n$/m);
    expect(code).toBe(1);
  });

  it('ends its token requests and starts no other when it is interrupted', async () => {
    let requests = 0;
    const silent = createServer((request, response) => {
      if (request.method === 'POST') {
        requests += 1;
        return;
      }
      const serverEndpoints = [{ serverAddress: 'https://cluster.example.com' }];
      const items = Array.from({ length: 20 }, (_, at) => ({
        metadata: { name: `c${at}`, uid: `c${at}` },
        spec: { orchestratorApiEndpoints: { serverEndpoints } },
      }));
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items }));
    }).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const running = jane.start(['exec', '--all', '--as', 'ci/builder', '--', 'true'], {
      CLUSTERPASS_SERVER: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    });
    await expect.poll(() => requests, { timeout: 10_000 }).toBe(16);
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ stderr: 'error: interrupted\n' });
    expect(requests).toBe(16);
  });

  it.each([
    ['its output is not read any more', ({ child }: Running) => child.stdout?.destroy()],
    ['the terminal is closed', ({ child }: Running) => child.kill('SIGHUP')],
    ['it is interrupted', ({ child }: Running) => child.kill('SIGINT')],
    ['it gets SIGQUIT', ({ child }: Running) => child.kill('SIGQUIT')],
    [
      'it is interrupted twice',
      async ({ child }: Running) => {
        child.kill('SIGINT');
        await new Promise((resolve) => setTimeout(resolve, 100));
        child.kill('SIGINT');
      },
    ],
  ])('A1: leaves no token and no program behind when %s', async (_, end) => {
    const folder = await mkdtemp(join(jane.home, 'tmp-'));
    // The child ignores SIGTERM, and does not end with the shell.
    const child = 'trap "" TERM; echo $$ > "$TMPDIR/pid"; while sleep 0.05; do echo x; done';
    const script = `sh -c '${child}'; true`;
    const running = jane.start(['exec', '--cluster', 'alpha', '--as', 'ci/builder', '--', 'sh', '-c', script], {
      TMPDIR: folder,
    });
    await running.until(({ stdout }) => stdout.includes('alpha: x'));
    await end(running);
    await running.ended;
    expect(await readdir(folder)).toEqual(['pid']);
    const pid = Number(await readFile(join(folder, 'pid'), 'utf8'));
    // An ended process remains until its parent has read its exit code.
    const stat = () => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') X ');
    await expect.poll(stat).toMatch(/\) [ZX] /);
  });
});
