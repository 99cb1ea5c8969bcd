import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, type Responder, scriptServer, status } from '../../src/client/script-server.fixture.ts';
import { Person } from './support/cli.ts';
import { bind, createObjects } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Server, startServer, TLS } from './support/server.ts';

let server: Server;
let admin: Person;
let jane: Person;

beforeAll(async () => {
  server = await startServer({ users: { jane: [] }, args: ['--cluster-networks', '127.0.0.0/8'] });
  await createObjects(server);
  await bind(server, 'jane-issues', { kind: 'User', name: 'jane' }, undefined, 'env=prod');
  [admin, jane] = await Promise.all([Person.as(server), Person.as(server, 'jane')]);
});
afterAll(async () => {
  await Promise.all([server.destroy(), admin.leave(), jane.leave()]);
});

const FLEET = `apiVersion: clusterregistry.k8s.io/v1alpha1
kind: Cluster
metadata:
  name: gamma
  labels: {env: test}
---
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  annotations: {clusterpass.dev/in-cluster: gamma}
---
`;

describe('clusterpass apply', () => {
  it('creates and changes objects, and leaves unchanged ones alone', async () => {
    const apply = ['apply', '-f', '-'];
    expect(await admin.ok(apply, { stdin: FLEET })).toBe(
      'cluster.clusterregistry.k8s.io/gamma created\nnamespace/shop created\n',
    );
    expect(await admin.ok(apply, { stdin: FLEET })).toBe(
      'cluster.clusterregistry.k8s.io/gamma unchanged\nnamespace/shop unchanged\n',
    );
    const changed = FLEET.replace('env: test', 'env: dev');
    expect(await admin.ok([...apply, '--dry-run', 'server'], { stdin: changed })).toMatch(
      /^cluster\S+gamma configured \(server dry run\)\n/,
    );
    expect(await admin.ok(apply, { stdin: changed })).toMatch(/^cluster\S+gamma configured\n/);
    expect((await server.call('GET', `${CLUSTERS}/gamma`)).json.metadata.labels).toEqual({ env: 'dev' });
  });

  it('-o prints the objects, and --dry-run=client sends nothing', async () => {
    const file = FLEET.replaceAll('gamma', 'zeta');
    const apply = (...flags: string[]) => admin.ok(['apply', '-f', '-', ...flags], { stdin: file });
    expect(await apply('--dry-run=client')).toBe(
      'cluster.clusterregistry.k8s.io/zeta created (dry run)\nnamespace/shop created (dry run)\n',
    );
    expect((await server.call('GET', `${CLUSTERS}/zeta`)).code).toBe(404);
    expect(await apply('-o', 'name')).toBe('cluster.clusterregistry.k8s.io/zeta\nnamespace/shop\n');
    expect(await apply('--dry-run=client')).toMatch(
      /zeta unchanged \(dry run\)\nnamespace\/shop unchanged \(dry run\)\n$/,
    );
    expect(
      await admin.ok(['apply', '-f', '-', '--dry-run=client'], { stdin: file.replace('env: test', 'env: dev') }),
    ).toMatch(/zeta configured \(dry run\)/);
    const list = JSON.parse(await apply('-o', 'json'));
    expect(list).toMatchObject({
      kind: 'List',
      items: [{ metadata: { name: 'zeta' } }, { metadata: { name: 'shop' } }],
    });
    expect(list.items[0].metadata.uid).toEqual(expect.any(String));
    const one = file.split('---')[0] ?? '';
    expect(await admin.ok(['apply', '-f', '-', '-o', 'jsonpath={.metadata.labels.env}'], { stdin: one })).toBe('test');
    expect(await admin.fails(['apply', '-f', '-', '--dry-run=maybe'], { stdin: one })).toBe(
      'error: --dry-run: "maybe" must be one of "none", "server", "client"\n',
    );
  });

  it('files, folders, JSON, --cluster and -n', async () => {
    const folder = join(admin.home, 'manifests');
    await mkdir(folder);
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } };
    await writeFile(join(folder, 'a.json'), JSON.stringify(account));
    await writeFile(join(folder, 'notes.txt'), 'not read');
    expect(await admin.ok(['apply', '-f', 'manifests', '--cluster', 'alpha', '-n', 'ci'])).toBe(
      'serviceaccount/robot created\n',
    );
    const path = '/orchestrator/alpha/api/v1/namespaces/ci/serviceaccounts/robot';
    expect((await server.call('GET', path)).code).toBe(200);
  });

  it('an object that fails does not stop the others, and the exit code is 1', async () => {
    const stdin = `${FLEET}
apiVersion: clusterregistry.k8s.io/v1alpha1
kind: Cluster
metadata: {name: Not_A_Name}
---
apiVersion: clusterregistry.k8s.io/v1alpha1
kind: Cluster
metadata: {name: delta}
`;
    const { code, stdout, stderr } = await admin.run(['apply', '-f', '-'], { stdin });
    expect(code).toBe(1);
    expect(stdout).toContain('cluster.clusterregistry.k8s.io/delta created\n');
    expect(stderr).toMatch(/^Error from server \(Invalid\): .*Not_A_Name/m);
  });

  it.each([
    ['kind: List\nitems: [null]\n', 'error: stdin: an object needs apiVersion, kind and metadata.name'],
    ['kind: Cluster\n', 'error: stdin: an object needs apiVersion, kind and metadata.name'],
    [
      'apiVersion: v1\nkind: Widget\nmetadata: {name: x}\n',
      'error: stdin: no matches for kind "Widget" in version "v1"',
    ],
    ['apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n', 'error: a Pod belongs to a cluster: set --cluster'],
    ['', 'error: no objects passed to apply'],
    [`${FLEET.split('---')[0]}spec: {extra: 1}\n`, 'Error from server (BadRequest): '],
  ])('%j: %s', async (stdin, message) => {
    expect(await admin.fails(['apply', '-f', '-'], { stdin })).toContain(message);
  });

  it.each(['apply', 'delete'])('A29: %s stops at an object whose cluster is named wrongly', async (command) => {
    const run = (text: string, ...flags: string[]) =>
      admin.fails([command, '-f', '-', ...flags], {
        stdin: `apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: builder, namespace: ci, annotations: ${text}}\n`,
      });
    expect(await run('{clusterpass.dev/cluster: beta}', '--cluster', 'alpha')).toBe(
      'error: stdin: annotation "clusterpass.dev/cluster": is not an annotation of a ServiceAccount; ' +
        'did you mean "clusterpass.dev/in-cluster"?\n',
    );
    expect(await run('{clusterpass.dev/in-cluster: beta}', '--cluster', 'alpha')).toBe(
      'error: stdin: the cluster from the object, "beta", does not match "alpha"\n',
    );
  });

  it('applies a cluster as it was listed, with the annotations that the server computed', async () => {
    const { json } = await server.call('GET', '/auth/v1/clusters?fieldSelector=metadata.name%3Dalpha');
    const { resourceVersion: _, ...metadata } = json.items[0].metadata;
    expect(metadata.annotations).toHaveProperty(['clusterpass.dev/issuer']);
    const stdin = JSON.stringify({ ...json.items[0], metadata });
    expect(await admin.ok(['apply', '-f', '-'], { stdin })).toBe('cluster.clusterregistry.k8s.io/alpha unchanged\n');
  });

  it('--server-side: managers, conflicts by field, and fields that were removed from the file', async () => {
    const cluster = (labels: string): string =>
      `apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster\nmetadata: {name: shared, labels: ${labels}}\n`;
    const apply = (labels: string, ...args: string[]) =>
      admin.run(['apply', '--server-side', '-f', '-', ...args], { stdin: cluster(labels) });
    const labels = async () => (await server.call('GET', `${CLUSTERS}/shared`)).json.metadata.labels;
    expect(await apply('{a: "1", b: "1"}')).toMatchObject({
      code: 0,
      stdout: 'cluster.clusterregistry.k8s.io/shared serverside-applied\n',
    });
    expect((await apply('{c: "1"}', '--field-manager', 'other')).code).toBe(0);
    const refused = await apply('{a: "2"}', '--field-manager', 'other');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/conflict with "clusterpass": \.metadata\.labels\.a\n.*--force-conflicts\.\n$/),
    ]);
    expect((await apply('{a: "2"}', '--field-manager', 'other', '--force-conflicts', '--dry-run=server')).code).toBe(0);
    expect(await labels()).toEqual({ a: '1', b: '1', c: '1' });
    expect((await apply('{a: "2"}', '--field-manager', 'other', '--force-conflicts')).code).toBe(0);
    expect(await labels()).toEqual({ a: '2', b: '1' });
    for (const args of [
      ['apply', '--force-conflicts', '-f', '-'],
      ['apply', '--server-side', '--dry-run=client', '-f', '-'],
    ]) {
      const { code, stderr } = await admin.run(args, { stdin: cluster('{}') });
      expect([code, stderr]).toEqual([1, expect.stringContaining('--server-side')]);
    }
  });

  it('needs a file that exists', async () => {
    expect(await admin.fails(['apply'])).toBe('error: must specify -f\n');
    expect(await admin.fails(['apply', '-f', 'nope.yaml'])).toBe(
      'error: cannot read nope.yaml: no such file or directory\n',
    );
  });

  it('says where a mistake in YAML is, and no more', async () => {
    expect(await admin.fails(['apply', '-f', '-'], { stdin: 'a: [' })).toMatch(
      /^error: stdin: .* at line 1, column \d+\n$/,
    );
  });

  it('a dry run does not look for objects inside a cluster that it would create', async () => {
    const account = (cluster: string): string => `apiVersion: v1
kind: ServiceAccount
metadata:
  name: robot
  namespace: new
  annotations: {clusterpass.dev/in-cluster: ${cluster}}
---
`;
    const namespace = (cluster: string): string => `apiVersion: v1
kind: Namespace
metadata:
  name: new
  annotations: {clusterpass.dev/in-cluster: ${cluster}}
---
`;
    const fleet = `${FLEET.split('---')[0]}---\n`.replace('gamma', 'epsilon');
    const stdin = [fleet, namespace('epsilon'), account('epsilon'), namespace('alpha'), account('alpha')].join('');
    const dryRun = ['apply', '-f', '-', '--dry-run', 'server'];
    const expected = [
      'cluster.clusterregistry.k8s.io/epsilon created (server dry run)',
      'namespace/new created (server dry run, not checked: its cluster is new)',
      'serviceaccount/robot created (server dry run, not checked: its cluster is new)',
      'namespace/new created (server dry run)',
      'serviceaccount/robot created (server dry run, not checked: its namespace is new)',
      '',
    ];
    expect(await admin.ok(dryRun, { stdin })).toBe(expected.join('\n'));
    expect((await server.call('GET', `${CLUSTERS}/epsilon`)).code).toBe(404);
    // Without its cluster or namespace in the file, it is still an error.
    expect(await admin.fails(dryRun, { stdin: account('epsilon') })).toMatch(/NotFound/);
    expect(await admin.ok(['apply', '-f', '-'], { stdin })).toBe(expected.join('\n').replaceAll(/ \(.*\)/g, ''));
  });
});

describe('clusterpass delete', () => {
  const made = (name: string, metadata = {}) =>
    server.call('POST', CLUSTERS, {
      body: { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name, ...metadata } },
    });

  it('A44: says which finalizers keep an object', async () => {
    await made('held', { finalizers: ['example.com/b', 'example.com/a'] });
    const { code, stderr } = await admin.run(['delete', 'cluster', 'held']);
    expect([code, stderr]).toEqual([
      0,
      'Warning: cluster.clusterregistry.k8s.io "held" exists until its finalizers are removed: example.com/b, example.com/a\n',
    ]);
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    await server.call('PATCH', `${CLUSTERS}/held`, { body: { metadata: { finalizers: null } }, headers });
    expect((await server.call('GET', `${CLUSTERS}/held`)).code).toBe(404);
  });

  it('by name, by type and name, by file', async () => {
    await Promise.all(['x1', 'x2', 'x3'].map(made));
    expect(await admin.ok(['delete', 'cluster', 'x1', 'x2'])).toBe(
      'cluster.clusterregistry.k8s.io "x1" deleted\ncluster.clusterregistry.k8s.io "x2" deleted\n',
    );
    expect(await admin.ok(['delete', 'clusters/x3', '--dry-run', 'server'])).toMatch(/"x3" deleted \(server dry run\)/);
    expect((await server.call('GET', `${CLUSTERS}/x3`)).code).toBe(200);
    expect(await admin.ok(['delete', 'clusters/x3'])).toMatch(/"x3" deleted\n/);
    expect(await admin.ok(['delete', '-f', '-'], { stdin: FLEET })).toBe(
      'namespace "shop" deleted\ncluster.clusterregistry.k8s.io "gamma" deleted\n',
    );
    expect(await admin.ok(['delete', 'sa', 'other', '-n', 'ci', '--cluster', 'beta', '--ignore-not-found'])).toBe('');
  });

  it('by label, in one namespace or in all', async () => {
    const account = (namespace: string, name: string, labels: object) =>
      server.call('POST', `/orchestrator/alpha/api/v1/namespaces/${namespace}/serviceaccounts`, {
        body: { metadata: { name, labels } },
      });
    await server.call('POST', '/orchestrator/alpha/api/v1/namespaces', { body: { metadata: { name: 'two' } } });
    await Promise.all([
      account('ci', 'old-1', { age: 'old' }),
      account('ci', 'new-1', { age: 'new' }),
      account('two', 'old-2', { age: 'old' }),
    ]);
    const remove = (...flags: string[]) =>
      admin.ok(['delete', 'sa', '--cluster', 'alpha', '-n', 'ci', '-l', 'age=old', ...flags]);
    expect(await remove('--dry-run=client', '-A')).toBe(
      'serviceaccount "old-1" deleted (dry run)\nserviceaccount "old-2" deleted (dry run)\n',
    );
    expect(await remove('-o', 'name')).toBe('serviceaccount/old-1\n');
    expect(await remove('-A')).toBe('serviceaccount "old-2" deleted\n');
    expect(await admin.run(['delete', 'sa', '--cluster', 'alpha', '-n', 'ci', '-l', 'age=old'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No resources found\n',
    });
    expect(await admin.fails(['delete', 'sa', 'x', '-l', 'a', '--cluster', 'alpha'])).toBe(
      'error: name cannot be provided when a selector is specified\n',
    );
    expect(await admin.fails(['delete', 'cluster/nope', '--dry-run=client'])).toMatch(/NotFound/);
  });

  it('by label: a cluster that does not exist is not one without objects', async () => {
    const args = ['delete', 'sa', '--cluster', 'alfa', '-l', 'age=old'];
    expect(await admin.fails(args)).toBe(
      'Error from server (NotFound): clusters.clusterregistry.k8s.io "alfa" not found\n' +
        'Did you mean the cluster alpha?\n',
    );
    expect((await admin.run([...args, '--ignore-not-found'])).code).toBe(0);
  });

  it('names objects that do not exist', async () => {
    expect(await admin.fails(['delete', 'cluster', 'nope'])).toMatch(/^Error from server \(NotFound\)/);
    expect(await admin.fails(['delete', 'widget', 'x'])).toBe(
      `error: the server doesn't have a resource type "widget"\n`,
    );
    expect(await admin.fails(['delete', 'cluster'])).toMatch(/no name was specified/);
    expect(await admin.fails(['delete'])).toMatch(/must specify TYPE and NAME/);
    expect(await admin.fails(['delete', 'serviceaccount', 'x', '-n', 'ci'])).toBe(
      'error: a ServiceAccount belongs to a cluster: set --cluster\n',
    );
    expect(await jane.fails(['delete', 'cluster', 'alpha'])).toMatch(/^Error from server \(Forbidden\)/);
  });
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
  });

  it.each([[['auth', 'can-i']], [['auth', 'why']], [['who-can']]])(
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

  it('--list', async () => {
    const text = await jane.ok(['auth', 'can-i', '--list', '-n', 'ci', '--cluster', 'alpha']);
    expect(text).toMatch(/^Resources +Non-Resource URLs +Resource Names +Verbs\n/);
    expect(text).toMatch(/^serviceaccounts\/token +\[\] +\[\] +\[create\]$/m);
    expect(await jane.fails(['auth', 'can-i'])).toMatch(/VERB and TYPE/);
  });
});

describe('a list whose version is gone before its last page', () => {
  it.each([
    [['get', 'clusters', '-l', 'x'], 'NAME'],
    [['get', 'namespaces', '--cluster', 'a'], 'NAME'],
    [['delete', 'namespaces', '--all', '--cluster', 'a'], 'namespace'],
  ])('is requested again as one page by %j', async (args, said) => {
    const names = ['first', 'second'];
    const list = (items: readonly string[], metadata: object): Responder =>
      json(200, {
        metadata: { resourceVersion: '1', ...metadata },
        items: items.map((name) => ({ metadata: { name } })),
      });
    const lists = [list(['first'], { continue: 'x' }), status(410, 'Expired'), list(names, {})];
    const gone = await scriptServer([...lists, json(200, {}), json(200, {})]);
    const printed = await admin.ok(args, { env: { CLUSTERPASS_SERVER: gone.url } });
    expect(printed).toContain(said);
    for (const name of names) expect(printed).toContain(name);
    const queries = gone.requests.filter(({ method }) => method === 'GET').map(({ query }) => query);
    expect(queries).toMatchObject([{ limit: '500' }, { continue: 'x' }, { limit: '0' }]);
    await gone.close();
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
          { name: 'untrusted', cluster: { server: address } },
        ],
        users: [{ name: 'me', user: { token: 'secret-of-dev' } }],
        contexts: [
          { name: 'one', context: { cluster: 'good', user: 'me' } },
          { name: 'two', context: { cluster: 'untrusted', user: 'me' } },
        ],
        'current-context': 'one',
      }),
    );
  });
  afterAll(() => {
    cluster.close();
  });

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

  it('a cluster without an identity is registered without one', async () => {
    isShy = true;
    const { code, stdout, stderr } = await admin.run(['register', 'dev-12', '--kubeconfig', 'dev.yaml']);
    isShy = false;
    expect(code).toBe(0);
    expect(stdout).toContain('dev-12 created, which runs');
    expect(stderr).toMatch(/^Warning: cannot read the identity of the cluster .*: .*not for you\n$/);
    expect((await server.call('GET', `${CLUSTERS}/dev-12`)).json.metadata.annotations).toBeUndefined();
  });

  it('warns a caller who may create clusters, but not write their status', async () => {
    const path = '/apis/rbac.authorization.k8s.io/v1';
    const metadata = { name: 'jane-creates' };
    const rules = [{ apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'], verbs: ['create'] }];
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, rules };
    const binding = {
      ...{ apiVersion: role.apiVersion, kind: 'ClusterRoleBinding', metadata },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    };
    expect((await server.call('POST', `${path}/clusterroles`, { body: role })).code).toBe(201);
    expect((await server.call('POST', `${path}/clusterrolebindings`, { body: binding })).code).toBe(201);
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
    [['--kubeconfig', 'dev.yaml', '--context', 'x'], 'has no context "x"'],
    [['--kubeconfig', 'dev.yaml', '--offline', '--label', 'env'], 'error: --label: "env" is not key=value'],
  ])('%j: %s', async (flags, message) => {
    expect(await admin.fails(['register', 'dev-11', ...flags])).toContain(message);
  });
});
