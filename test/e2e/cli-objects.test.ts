import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, scriptServer } from '../../src/client/script-server.fixture.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { Person } from './support/cli.ts';
import { patchCluster } from './support/fleet.ts';
import { bind, createAccount, createNamespace, createObjects } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { grant, may, REGISTRY_GROUP } from './support/rbac.ts';
import { TLS } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

const server = sharedServer();
let admin: Person;
let jane: Person;

beforeAll(async () => {
  await createObjects(server);
  await bind(server, 'jane-issues', { kind: 'User', name: 'jane' }, undefined, 'env=prod');
  [admin, jane] = await Promise.all([Person.as(server), Person.as(server, 'jane')]);
});

describe('clusterpass auth can-i', () => {
  const token = ['auth', 'can-i', 'create', 'serviceaccounts/builder', '--subresource', 'token', '-n', 'ci'];

  it('yes and 0, no and 1, cluster by cluster', async () => {
    expect(await jane.run([...token, '--cluster', 'alpha'])).toEqual({ code: 0, stdout: 'yes\n', stderr: '' });
    expect(await jane.run([...token, '--cluster', 'beta'])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^no/),
    });
    expect(await jane.run([...token, '--cluster', 'beta', '-q'])).toEqual({ code: 1, stdout: '', stderr: '' });
    expect((await jane.run(['auth', 'can-i', 'get', 'clusters', 'alpha'])).code).toBe(1);
    expect((await admin.run(['auth', 'can-i', 'get', 'clusters', 'alpha'])).code).toBe(0);
    expect((await admin.run(['auth', 'can-i', 'get', '/metrics'])).code).toBe(0);
    // For others, as far as the caller may impersonate them.
    const asJane = ['auth', 'can-i', 'get', '/metrics', '--as', 'jane'];
    expect((await admin.run(asJane)).code).toBe(1);
    expect(await jane.fails([...asJane.slice(0, -1), 'admin'])).toContain('cannot impersonate resource "users"');
    const asOther = await admin.run([...asJane.slice(0, -1), 'jörg 世界']);
    expect(asOther).toMatchObject({ code: 1, stdout: expect.stringMatching(/^no/) });
  });

  it.each([[['auth', 'can-i']], [['auth', 'why']], [['auth', 'who-can']]])(
    '%j refuses a subresource in place of a name',
    async (command) => {
      const where = ['-n', 'ci', '--cluster', 'alpha'];
      expect(await admin.fails([...command, 'create', 'sa/token', ...where])).toBe(
        'error: "sa/token": for the subresource, use sa --subresource token; for an object with this name, use sa token\n',
      );
      await admin.ok([...command, 'create', 'sa', 'token', ...where]);
      await admin.ok([...command, 'create', 'sa/token', '--subresource', 'token', ...where]);
    },
  );

  it.each(['can-i', 'why'])('auth %s needs the cluster of an object inside one', async (command) => {
    const problem = 'error: a ServiceAccount belongs to a cluster: set --cluster\n';
    const question = ['auth', command, 'create', 'sa/builder', '--subresource', 'token', '-n', 'ci'];
    expect(await jane.run(question)).toEqual({ code: 1, stdout: '', stderr: problem });
    await admin.ok([...question, '--cluster', 'alpha']);
    await admin.ok(['auth', command, 'list', 'clusters']);
    await admin.ok(['auth', command, 'get', '*']);
  });

  it('warns of an unknown type', async () => {
    const { stderr, code } = await jane.run(['auth', 'can-i', 'get', 'widgets']);
    expect(code).toBe(1);
    expect(stderr).toBe(`Warning: the server doesn't have a resource type "widgets"\n`);
  });
});

describe('clusterpass register', () => {
  let cluster: HttpsServer;
  let address: string;
  const asked: (string | undefined)[] = [];
  let isShy = false;

  beforeAll(async () => {
    const tls = { cert: readFileSync(TLS.certFile), key: readFileSync(TLS.keyFile) };
    cluster = createServer(tls, (request, response) => {
      asked.push(`${request.url} ${request.headers.authorization}`);
      response.setHeader('Content-Type', 'application/json');
      if (request.url === '/version') response.end('{"gitVersion":"v1.36.4+k3s1"}');
      else if (isShy) response.writeHead(403).end('{"kind":"Status","code":403,"message":"not for you"}');
      else response.end('{"metadata":{"name":"kube-system","uid":"6f1c3ad0-0000-4000-8000-00000000000a"}}');
    });
    cluster.listen(0, '127.0.0.1');
    await once(cluster, 'listening');
    address = `https://127.0.0.1:${(cluster.address() as AddressInfo).port}`;
    const ca = readFileSync(TLS.caFile).toString('base64');
    await writeFile(
      join(admin.home, 'dev.yaml'),
      JSON.stringify({
        clusters: [
          { name: 'good', cluster: { server: address, 'certificate-authority-data': ca } },
          { name: 'closed', cluster: { server: 'https://127.0.0.1:1' } },
        ],
        users: [{ name: 'me', user: { token: 'secret-of-dev' } }],
        contexts: [
          { name: 'one', context: { cluster: 'good', user: 'me' } },
          { name: 'two', context: { cluster: 'closed', user: 'me' } },
        ],
        'current-context': 'one',
      }),
    );
  });
  afterAll(() => cluster.close());

  it('reads address and CA, asks for version and identity, and creates the cluster', async () => {
    const flags = ['--kubeconfig', 'dev.yaml', '--context', 'one', '--label', 'env=dev'];
    expect(await admin.ok(['register', 'dev-9', ...flags, '--dry-run', 'server'])).toContain('(server dry run)');
    asked.length = 0;
    expect(await admin.ok(['register', 'dev-9', ...flags])).toBe(
      'cluster.clusterregistry.k8s.io/dev-9 created, which runs v1.36.4+k3s1\n',
    );
    expect(asked).toEqual(['/version Bearer secret-of-dev', '/api/v1/namespaces/kube-system Bearer secret-of-dev']);
    const { json, text } = await server.call('GET', `${CLUSTERS}/dev-9`);
    expect(json.metadata.labels).toEqual({ env: 'dev' });
    expect(json.metadata.annotations).toEqual({
      'clusterpass.dev/cluster-id': '6f1c3ad0-0000-4000-8000-00000000000a',
    });
    expect(json.spec.orchestratorApiEndpoints).toEqual({
      serverEndpoints: [
        { clientCIDR: '0.0.0.0/0', serverAddress: address },
        { clientCIDR: '::/0', serverAddress: address },
      ],
      caBundle: readFileSync(TLS.caFile).toString('base64'),
    });
    expect(json.status).toMatchObject({ version: 'v1.36.4+k3s1', type: 'k3s' });
    expect(text).not.toContain('secret-of-dev');
  });

  const withContext = async (server: string, ca: string, name: string): Promise<string> => {
    const config = JSON.parse(await readFile(join(admin.home, 'dev.yaml'), 'utf8'));
    const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
    await writeFile(join(admin.home, name), JSON.stringify({ ...config, clusters: [{ name: 'good', cluster }] }));
    return name;
  };

  it('says what is left to do until the cluster can be used, and describe does until it is done', async () => {
    const open = [
      /^ {2}Reachable: +not known +No probe has finished yet: .*\n +clusterpass describe cluster dev-9$/m,
      /^ {2}Trusts Clusterpass: +not known +.*\n +clusterpass trust dev-9 > authentication\.yaml$/m,
      /^ {2}Accounts known: +no +Service accounts: 0\n +clusterpass kubectl --cluster dev-9 create serviceaccount /m,
    ];
    const { stderr } = await admin.run(['register', 'dev-9', '--kubeconfig', 'dev.yaml', '--update']);
    const described = await admin.ok(['describe', 'cluster', 'dev-9']);
    for (const text of [stderr, described]) for (const line of open) expect(text).toMatch(line);
    expect(described).toMatch(
      /^ {2}Usable by callers: +no +Users, .*: 0\n +clusterpass grant .* --cluster dev-9 --apply$/m,
    );
    const anything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
    await bind(server, 'uses-dev-9', { kind: 'Group', name: 'devs' }, anything, 'env=dev');
    await createNamespace(server, 'ci', 'dev-9');
    await createAccount(server, 'builder', 'ci', 'dev-9');
    const later = await admin.ok(['describe', 'cluster', 'dev-9']);
    expect(later).toMatch(/^ {2}Accounts known: +yes +Service accounts: 1$/m);
    expect(later).toMatch(/^ {2}Usable by callers: +yes +Users, .*: 1$/m);
    const ready = { type: 'Ready', status: 'True', reason: 'Checked', lastTransitionTime: '2026-11-16T00:00:00Z' };
    await patchCluster(server, 'dev-9', { metadata: { annotations: { 'clusterpass.dev/token-checks': 'webhook' } } });
    await server.call('PATCH', `${CLUSTERS}/dev-9/status`, { body: { status: { conditions: [ready] } } });
    expect(await admin.ok(['describe', 'cluster', 'dev-9'])).not.toContain('Until it can be used');
  });

  it('--update shows a new address and CA, and writes them; the networks and labels stay', async () => {
    const other = createAuthority('a new CA').cert;
    const flags = [
      '--update',
      '--offline',
      '--kubeconfig',
      await withContext('https://127.0.0.1:7443', other, 'new.yaml'),
    ];
    const change =
      /^Until now: +https:\/\/127.*:\d+, for clients in 0\.0\.0\.0\/0\n(?:.*\n)*CA until now: +.*\n(?:.*\n)*Address: +https:\/\/127\.0\.0\.1:7443, .*\n(?:.*\n)*CA: +CN=a new CA /m;
    const dry = await admin.ok(['register', 'dev-9', ...flags, '--dry-run', 'server']);
    expect(dry).toMatch(change);
    expect(dry).toMatch(/\/dev-9 updated \(server dry run\)\n$/);
    const read = async () => (await server.call('GET', `${CLUSTERS}/dev-9`)).json;
    expect((await read()).spec.orchestratorApiEndpoints.serverEndpoints[0].serverAddress).toBe(address);
    expect(await admin.ok(['register', 'dev-9', ...flags])).toMatch(change);
    const { metadata, spec } = await read();
    expect(metadata.labels).toEqual({ env: 'dev' });
    const serverAddress = 'https://127.0.0.1:7443';
    expect(spec.orchestratorApiEndpoints).toEqual({
      serverEndpoints: ['0.0.0.0/0', '::/0'].map((clientCIDR) => ({ clientCIDR, serverAddress })),
      caBundle: Buffer.from(other).toString('base64'),
    });
    expect(await admin.ok(['register', 'dev-9', ...flags])).toBe('cluster.clusterregistry.k8s.io/dev-9 unchanged\n');
    expect(await admin.fails(['register', 'dev-99', ...flags])).toContain('"dev-99" not found');
  });

  it('--update refuses another cluster', async () => {
    const annotations = { 'clusterpass.dev/cluster-id': 'another-id' };
    await patchCluster(server, 'dev-9', { metadata: { annotations } });
    expect(await admin.fails(['register', 'dev-9', '--update', '--kubeconfig', 'dev.yaml'])).toBe(
      'error: this is another cluster: its identity is 6f1c3ad0-0000-4000-8000-00000000000a, that of the registered one ' +
        'another-id; register it under another name\n',
    );
  });

  it('a cluster without an identity is registered without one', async () => {
    isShy = true;
    const { code, stdout, stderr } = await admin.run(['register', 'dev-12', '--kubeconfig', 'dev.yaml']);
    isShy = false;
    expect(code).toBe(0);
    expect(stdout).toContain('dev-12 created, which runs');
    expect(stderr).toMatch(
      /^Warning: cannot read the identity of the cluster .*: .*not for you\nUntil it can be used:\n/,
    );
    expect((await server.call('GET', `${CLUSTERS}/dev-12`)).json.metadata.annotations).toBeUndefined();
  });

  it('warns a caller who may create clusters, but not write their status', async () => {
    await grant(server, { to: 'jane', rules: [may('create', 'clusters', REGISTRY_GROUP)] });
    const file = join(admin.home, 'dev.yaml');
    const { code, stderr } = await jane.run(['register', 'dev-13', '--kubeconfig', file]);
    expect(stderr).toMatch(/^Warning: the version of dev-13 was not stored: .*\n$/);
    expect(code).toBe(0);
    expect((await server.call('GET', `${CLUSTERS}/dev-13`)).code).toBe(200);
  });

  it('an address that does not respond like a cluster is registered only on request', async () => {
    const flags = ['register', 'dev-10', '--kubeconfig', 'dev.yaml', '--context', 'two'];
    expect(await admin.fails(flags)).toMatch(/^error: cannot read the version of the cluster: .*--offline/);
    expect((await server.call('GET', `${CLUSTERS}/dev-10`)).code).toBe(404);
    expect(await admin.ok([...flags, '--offline', '--client-cidr', '10.0.0.0/8'])).toBe(
      'cluster.clusterregistry.k8s.io/dev-10 created\n',
    );
  });

  it('sends the token of the kubeconfig to no other machine by plain HTTP', async () => {
    const plain = await scriptServer([json(200, { gitVersion: 'v1.36.4' }), json(200, {})]);
    // Not recognized as loopback.
    const server = plain.url.replace('127.0.0.1', '[::ffff:127.0.0.1]');
    const config = JSON.parse(await readFile(join(admin.home, 'dev.yaml'), 'utf8'));
    await writeFile(
      join(admin.home, 'plain.yaml'),
      JSON.stringify({ ...config, clusters: [{ name: 'good', cluster: { server } }] }),
    );
    const said = await admin.fails(['register', 'dev-14', '--kubeconfig', 'plain.yaml']);
    expect(said).toContain('is plain HTTP, which exposes the credential on the network');
    expect(plain.requests).toEqual([]);
    await plain.close();
  });

  it.each([
    [['--kubeconfig', 'nope'], 'error: the kubeconfig '],
    [['--kubeconfig', 'dev.yaml', '--context', 'x'], 'has no context "x"; it has one, two\n'],
    [['--kubeconfig', 'dev.yaml', '--context', 'tow'], 'has no context "tow"; did you mean two?\n'],
    [['--kubeconfig', 'dev.yaml', '--offline', '--label', 'env'], 'error: --label: "env" is not key=value'],
  ])('%j: %s', async (flags, message) => {
    expect(await admin.fails(['register', 'dev-11', ...flags])).toContain(message);
  });
});
