import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bootstrapTokenId } from '../../src/api/bootstrap-credential.ts';
import { connectorAudience, passSecretName } from '../../src/api/connector.ts';
import { FakeCluster } from '../../src/connector/cluster.fixture.ts';
import { applyYaml } from './support/apply.ts';
import { auditLogOf, eventsOf } from './support/audit.ts';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { Person } from './support/cli.ts';
import { BOOTSTRAP, ClusterIssuer, CONNECTORS, TestConnector } from './support/connector.ts';
import { removeCluster } from './support/fleet.ts';
import { codeFor, createAccount, createNamespace, inNamespace, issue, remove, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { grant, may } from './support/rbac.ts';
import { type Answer, tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';
import { type StartedCommand, startCommand } from './support/sync-command.ts';

/** A cluster that registers itself, and its connector, which reports and copies its accounts and Pods. */

const IDENTITY = 'aaaaaaaa-0000-4000-8000-000000000001';
const AUDIT_EVENTS = '/apis/clusterpass.dev/v1alpha1/auditeventreviews';
const ADDRESS = 'https://10.9.0.1:6443';

/** The changes of an administrator in the cluster. */
const SINCE = { name: 'edge-1', labels: { env: 'edge', owner: 'team-a' }, annotations: { contact: 'team-a' } };

const server = sharedServer();
let admin: Person;
let cluster: FakeCluster;

const put = (resource: string, name: string, uid: string, more: object = {}, namespace?: string): void => {
  const metadata = { name, uid, ...(namespace === undefined ? {} : { namespace }) };
  cluster.put(`/${resource}`, { apiVersion: 'v1', kind: 'any', metadata, ...more });
};

beforeAll(async () => {
  cluster = await new FakeCluster().start();
  admin = await Person.as(server);
  await writeFile(join(admin.home, 'edge.yaml'), cluster.kubeconfig);
  put('namespaces', 'kube-system', IDENTITY);
});
afterAll(() => cluster?.stop());

describe('a bootstrap token', () => {
  const create = (...flags: string[]): Promise<string> => admin.ok(['create', 'bootstrap-token', ...flags]);
  const joins = (name: string, token: string, query = ''): Promise<Answer> => {
    const body = bodyOf(name, { metadata: { name, annotations: { 'clusterpass.dev/cluster-id': IDENTITY } } });
    const path = `${BOOTSTRAP}/${bootstrapTokenId(token.trim())}/cluster${query}`;
    return server.call('POST', path, { token: token.trim(), body });
  };
  const clusterOf = async (name: string) => (await server.call('GET', `${CLUSTERS}/${name}`)).json;
  const bodyOf = (name: string, more: object = {}): object => ({
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name },
    spec: { orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: ADDRESS }] } },
    ...more,
  });

  it('A49: registers one cluster, once, with the labels of the token, and can be repeated', async () => {
    const token = await create('edge', '--name-pattern', 'edge-*', '--label', 'env=edge', '--duration', '10m');
    expect((await joins('edge-1', token, '?dryRun=All')).code).toBe(201);
    expect((await joins('edge-1', token)).code).toBe(201);
    expect(await clusterOf('edge-1')).toMatchObject({
      metadata: { labels: { env: 'edge' }, annotations: { 'clusterpass.dev/cluster-id': IDENTITY } },
      spec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: ADDRESS }] } },
    });
    expect((await joins('edge-1', token)).code).toBe(200);
    // The repeated request says that it is registered, and shows no field that others wrote.
    await applyYaml(server, JSON.stringify(bodyOf('edge-1', { metadata: SINCE })));
    const path = `${BOOTSTRAP}/edge/cluster`;
    const again = await server.call('POST', path, { token: token.trim(), body: bodyOf('edge-1') });
    expect([again.code, again.json.metadata.name, again.json.spec]).toEqual([200, 'edge-1', undefined]);
    expect(again.text).not.toContain('team-a');
    const other = await joins('edge-2', token);
    expect([other.code, other.json.message]).toEqual([
      409,
      expect.stringContaining('it was already used to register cluster edge-1'),
    ]);

    const { json } = await server.call('GET', `${BOOTSTRAP}/edge`);
    expect(json.spec.createdBy.username).toBe('admin');
    expect(json.status).toMatchObject({ cluster: 'edge-1', registeredTimestamp: expect.any(String) });
    expect(JSON.stringify(json)).not.toContain(token.trim());
    const review = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'AuditEventReview', spec: { cluster: 'edge-1' } };
    const { status } = (await server.call('POST', AUDIT_EVENTS, { body: review })).json;
    const registration = { user: 'system:bootstrap:edge', code: 201, resource: 'bootstraptokens/cluster' };
    expect(status.events).toContainEqual(expect.objectContaining(registration));
    // Not even after its cluster was deleted.
    await removeCluster(server, 'edge-1');
    expect((await joins('edge-1', token)).json.message).toContain('it was already used to register cluster edge-1');
  });

  it('A49: says that its cluster has another name already, which only the audit event names', async () => {
    const annotations = { 'clusterpass.dev/cluster-id': IDENTITY };
    await applyYaml(server, JSON.stringify(bodyOf('former', { metadata: { name: 'former', annotations } })));
    const token = await create('again', '--name-pattern', 'edge-*');
    expect((await joins('edge-9', token, '?dryRun=All')).warnings).toEqual([]);
    const { warnings, headers } = await joins('edge-9', token);
    expect(warnings).toEqual(['the same cluster id is registered under another name, which the audit event has']);
    const [event] = await eventsOf(auditLogOf(server), headers.get('audit-id'));
    expect(event.annotations['clusterpass.dev/registered-as']).toBe('former');
    for (const name of ['former', 'edge-9']) await removeCluster(server, name);
  });

  it('A49: refuses other names, labels and fields, and spends no token for them', async () => {
    const token = (await create('strict', '--name-pattern', 'edge-*', '--label', 'env=edge')).trim();
    const path = `${BOOTSTRAP}/strict/cluster`;
    const refused = async (body: object) => (await server.call('POST', path, { token, body })).json.message;
    expect(await refused(bodyOf('prod-1'))).toContain('the bootstrap token is for names like edge-*');
    expect(await refused(bodyOf('edge-3', { metadata: { name: 'edge-3', labels: { env: 'prod' } } }))).toContain(
      'metadata.labels[env]: Forbidden: the bootstrap token determines the labels',
    );
    const probe = { name: 'edge-3', annotations: { 'clusterpass.dev/probe': 'off' } };
    expect(await refused(bodyOf('edge-3', { metadata: probe }))).toContain(
      'metadata.annotations[clusterpass.dev/probe]',
    );
    const authInfo = { controller: { kind: 'Secret', name: 'other' } };
    expect(await refused(bodyOf('edge-3', { spec: { authInfo } }))).toContain('spec.authInfo: Forbidden');
    const lies = {
      spec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 'https://169.254.169.254' }] } },
    };
    expect(await refused(bodyOf('edge-3', lies))).toContain('is invalid');
    expect((await server.call('POST', path, { body: bodyOf('edge-3') })).code).toBe(403);
    expect((await server.call('POST', path, { token, body: bodyOf('edge-3') })).code).toBe(201);
  });

  it('A49: gives no other access, and ends with its deletion', async () => {
    const token = await create('narrow', '--name-pattern', 'edge-*');
    const codes = async (...calls: [string, string][]): Promise<number[]> =>
      Promise.all(calls.map(async ([method, path]) => (await server.call(method, path, { token })).code));
    expect(
      await codes(['GET', CLUSTERS], ['GET', `${BOOTSTRAP}/narrow`], ['GET', '/apis'], ['POST', CLUSTERS]),
    ).toEqual([200, 403, 403, 403]);
    expect((await server.call('GET', CLUSTERS, { token })).json.items).toEqual([]);
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const path = '/apis/authentication.k8s.io/v1/tokenreviews';
    expect((await server.call('POST', path, { body: review })).json.status.authenticated).not.toBe(true);
    const wrong = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    expect((await server.call('GET', CLUSTERS, { token: wrong })).code).toBe(401);
    await remove(server, `${BOOTSTRAP}/narrow`);
    expect((await server.call('GET', CLUSTERS, { token })).code).toBe(401);

    const fails = (...flags: string[]): Promise<string> => admin.fails(['create', 'bootstrap-token', ...flags]);
    expect(await fails()).toContain('--name-pattern is required');
    expect(await fails('--name-pattern', 'A*')).toContain('spec.namePattern: Invalid value');
    expect(await fails('--name-pattern', 'a*', '--duration', '48h')).toContain('at most 24 hours away');
  });

  it('A49: has the permissions that its creator has when it is used', async () => {
    const body = fleetBinding({ name: 'prod-admins', to: ['prod-admin'], role: 'cluster-admin', clusters: 'env=prod' });
    await server.call('POST', FLEET_BINDINGS, { body });
    const group = 'clusterpass.dev';
    await grant(server, { to: 'registrar', rules: [may('create', 'bootstraptokens', group)] });
    const env = { CLUSTERPASS_TOKEN: tokenOf('registrar') };
    const fails = (...flags: string[]) => admin.fails(['create', 'bootstrap-token', ...flags], { env });
    expect(await fails('--name-pattern', 'edge-*')).toContain('cannot create resource "clusters"');
    const revoke = await grant(server, {
      to: 'registrar',
      rules: [may('create', 'clusters', 'clusterregistry.k8s.io')],
    });
    expect(await fails('--name-pattern', 'edge-*', '--label', 'env=prod')).toContain('may not set these labels');
    const protectedLabel = 'protected.clusterpass.dev/tier=gold';
    expect(await fails('--name-pattern', 'edge-*', '--label', protectedLabel)).toContain('cannot protect resource');
    const token = await admin.ok(['create', 'bootstrap-token', '--name-pattern', 'edge-*'], { env });
    // Of this name only, so the check at the creation did not find it. Its holder does not learn what it grants.
    const named = { to: 'prod-admin', rules: [may('create', 'pods')] };
    const end = await grant(server, { ...named, clusters: 'kubernetes.io/metadata.name in (edge-5),env!=dev' });
    const { message } = (await joins('edge-5', token)).json;
    expect(message).toContain('its creator may not register this cluster');
    expect(message).not.toMatch(/granted-|pods/);
    await end();
    await revoke();
    expect((await joins('edge-5', token)).json.message).toContain('its creator may not register this cluster');
  });
});

describe('clusterpass connector', () => {
  const issuer = new ClusterIssuer();
  const write = (name: string, text: string): Promise<void> => writeFile(join(admin.home, name), text);
  const CONFIG = `
apiVersion: clusterpass.dev/v1alpha1
kind: ConnectorConfiguration
allow: [{ namespace: ci, accounts: [builder], maxSeconds: 900 }]
people: [{ group: devs }]
`;
  const start = (name: string, more: object = {}): StartedCommand =>
    startCommand(
      'connector',
      { person: admin, server },
      {
        ...{ cluster: name, kubeconfig: 'edge.yaml', namespace: 'clusterpass', address: ADDRESS },
        ...{ config: `${name}.yaml`, tokenFile: `${name}.token`, bootstrapTokenFile: `${name}.join`, ...more },
      },
    );
  /** Its files. */
  const prepare = async (name: string, config: string): Promise<void> => {
    await write(`${name}.yaml`, config);
    await write(`${name}.token`, await issuer.projected(connectorAudience(server.url, name)));
    await write(`${name}.join`, await admin.ok(['create', 'bootstrap-token', '--name-pattern', name]));
  };

  beforeAll(() => {
    cluster.keys = issuer.keys;
  });

  it('registers its cluster, and reports what it finds there and what it may do', async () => {
    const statusOf = async () => (await server.call('GET', `${CONNECTORS}/ordered`)).json.status;
    await prepare('ordered', CONFIG);
    const first = start('ordered');
    await expect.poll(statusOf).toMatchObject({
      ...{ version: '0.0.0', contract: 1, clusterVersion: 'v1.36.4', ready: true, revocable: true, people: ['devs'] },
      nodes: { ready: 2, total: 3 },
      allow: [{ namespace: 'ci', accounts: ['builder'], maxSeconds: 900 }],
    });
    expect((await server.call('GET', `${CLUSTERS}/ordered`)).json).toMatchObject({
      metadata: { annotations: { 'clusterpass.dev/cluster-id': IDENTITY } },
      spec: {
        orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: ADDRESS }, { serverAddress: ADDRESS }] },
        authInfo: { controller: { kind: 'Connector', name: 'ordered' } },
      },
    });
    expect(first.written.err).toContain(`cluster.clusterregistry.k8s.io/ordered is registered at ${ADDRESS}\n`);
    const { connectedSince } = await statusOf();
    await first.stop();
    // From now on its own token is enough.
    cluster.isReady = false;
    const second = start('ordered', { bootstrapTokenFile: undefined });
    await expect.poll(statusOf).toMatchObject({
      ready: false,
      readyMessage: expect.stringContaining('[-]etcd failed'),
      connectedSince,
    });
    await second.stop();
    cluster.isReady = true;
  });

  it('issues the tokens that its configuration allows, and ends them when they are revoked', async () => {
    put('namespaces', 'ci', 'uid-of-ci');
    cluster.addAccount('ci', 'builder');
    cluster.sign = ({ account, spec: { audiences, expirationSeconds, boundObjectRef: bound } }) => {
      const [namespace = '', name = ''] = account.split('/');
      const aud = audiences.length === 0 ? ['https://kubernetes.default.svc'] : audiences;
      const object = cluster.objects('/serviceaccounts').get(account);
      const about = {
        namespace,
        serviceaccount: { name, uid: object?.metadata.uid },
        ...(bound === undefined ? {} : { secret: { name: bound.name, uid: bound.uid } }),
      };
      const sub = `system:serviceaccount:${namespace}:${name}`;
      return issuer.projected(aud, { sub, jti: randomUUID(), 'kubernetes.io': about }, expirationSeconds);
    };
    const connector = start('ordered');
    const path = tokenPath('builder', 'ci', 'ordered');
    // Its namespace is copied first.
    const ask = (account = path) => server.call('POST', account, { body: { spec: { audiences: [] } } });
    await expect.poll(async () => (await ask()).code).toBe(201);
    const { json } = await ask();
    const { sub, exp = 0, iat = 0, 'kubernetes.io': about } = decodeJwt(json.status.token);
    // Not the hour that was asked for.
    expect([sub, exp - iat]).toEqual(['system:serviceaccount:ci:builder', 900]);
    const { name } = (about as { secret: { name: string } }).secret;
    expect(cluster.secrets).toContain(`ci/${name}`);
    expect(await ask(tokenPath('other', 'ci', 'ordered'))).toMatchObject({
      code: 403,
      json: { message: expect.stringContaining('the owner of the cluster does not allow its connector') },
    });
    await admin.ok(['token', 'revoke', name.slice(passSecretName('').length)]);
    await expect.poll(() => cluster.secrets).not.toContain(`ci/${name}`);
    // What the owner of the cluster changes is in force without a restart.
    await write('ordered.yaml', CONFIG.replace('builder', 'other'));
    const allowed = async () => (await server.call('GET', `${CONNECTORS}/ordered`)).json.status.allow[0].accounts;
    await expect.poll(allowed, { timeout: 30_000 }).toEqual(['other']);
    expect((await ask()).code).toBe(403);
    await connector.stop();
    cluster.remove('/serviceaccounts', 'ci/builder');
    cluster.remove('/namespaces', 'ci');
  });

  it('A49: says in its log that the cluster to which it is added has another name, which it does not name', async () => {
    await applyYaml(server, 'apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster\nmetadata: { name: added }\n');
    await prepare('added', CONFIG);
    const connector = start('added');
    await expect.poll(() => connector.written.err).toContain('/added is registered already');
    await connector.stop();
    expect(connector.written.err).toMatch(
      /^Warning: the same cluster id is registered under another name, which the /m,
    );
    expect(connector.written.err).not.toContain('ordered');
  });

  it('says what is wrong with its files, and does nothing', async () => {
    const flags = ['--cluster', 'bad', '--kubeconfig', 'edge.yaml', '--namespace', 'x', '--token-file', 'bad.token'];
    const fails = (...args: string[]): Promise<string> => admin.fails(['connector', ...flags, ...args]);
    await prepare('bad', CONFIG.replace('accounts', 'account'));
    expect(await fails('--config', 'bad.yaml')).toMatch(
      /^error: configuration \/.*bad\.yaml: .*unknown field "allow\[0\]\.account"/,
    );
    expect(await fails('--config', 'absent.yaml')).toContain('cannot read');
    await prepare('bad', CONFIG);
    await write('bad.token', await issuer.projected(connectorAudience(server.url, 'ordered')));
    const connector = start('bad');
    await expect.poll(() => connector.written.err).toContain('the start: the audience of the connector');
    await connector.stop();
    expect((await server.call('GET', `${CLUSTERS}/bad`)).code).toBe(404);
  });
});

describe('the copies of a connector', () => {
  const issuer = new ClusterIssuer();
  const uidOf = async (path: string) => (await server.call('GET', path)).json.metadata?.uid;
  const account = `${inNamespace('serviceaccounts', 'ci', 'real')}/builder`;
  const pod = `${inNamespace('pods', 'ci', 'real')}/builder-0`;
  const start = (): StartedCommand =>
    startCommand(
      'connector',
      { person: admin, server },
      {
        ...{ cluster: 'real', kubeconfig: 'edge.yaml', namespace: 'clusterpass' },
        ...{ config: 'real.yaml', tokenFile: 'real.token' },
      },
    );

  beforeAll(async () => {
    // Clusterpass signs the tokens of this cluster.
    const text = 'apiVersion: clusterpass.dev/v1alpha1\nkind: ConnectorConfiguration\norders: false\n';
    await writeFile(join(admin.home, 'real.yaml'), text);
    cluster.keys = issuer.keys;
    const joining = await new TestConnector(server, 'real', { issuer }).login();
    const token = (await admin.ok(['create', 'bootstrap-token', '--name-pattern', 'real'])).trim();
    expect((await joining.register(token, { orders: false })).code).toBe(201);
    await writeFile(join(admin.home, 'real.token'), joining.token);
    const metadata = { annotations: { 'clusterpass.dev/cluster-id': IDENTITY } };
    expect((await server.call('PATCH', `${CLUSTERS}/real`, { body: { metadata } })).code).toBe(200);
    // Written by people before: its name is also in the cluster.
    await createNamespace(server, 'shop', 'real');
    await createAccount(server, 'cashier', 'shop', 'real');
    put('namespaces', 'ci', 'uid-of-ci');
    put('namespaces', 'shop', 'uid-of-shop');
    put('serviceaccounts', 'builder', 'uid-of-builder', {}, 'ci');
    put('serviceaccounts', 'cashier', 'uid-of-cashier', {}, 'shop');
    put('pods', 'builder-0', 'uid-of-pod', { spec: { serviceAccountName: 'builder', containers: [{}] } }, 'ci');
  });

  it('have the UIDs of the cluster, leave objects of others, and follow it across its restart', async () => {
    const path = tokenPath('builder', 'ci', 'real');
    const connector = start();
    await expect.poll(() => Promise.all([account, pod].map(uidOf))).toEqual(['uid-of-builder', 'uid-of-pod']);
    await expect
      .poll(() => connector.written.err)
      .toContain('serviceaccounts/shop/cashier exists and is not of this synchronization');
    put('pods', 'builder-0', 'uid-of-pod', { spec: { serviceAccountName: 'builder', nodeName: 'node-1' } }, 'ci');
    await expect.poll(async () => (await server.call('GET', pod)).json.spec.nodeName).toBe('node-1');
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'builder-0', uid: 'uid-of-pod' };
    const bound = await issue(server, path, { audiences: [], boundObjectRef });
    expect(decodeJwt(bound)['kubernetes.io']).toMatchObject({
      serviceaccount: { uid: 'uid-of-builder' },
      pod: { uid: 'uid-of-pod' },
      node: { name: 'node-1' },
    });
    const unbound = await issue(server, path);
    // A copy that another client deleted comes back as the same object.
    await remove(server, account);
    await expect.poll(() => uidOf(account)).toBe('uid-of-builder');
    expect([await codeFor(server, bound), await codeFor(server, unbound)]).toEqual([200, 200]);

    await cluster.stop();
    cluster.remove('/pods', 'ci/builder-0');
    put('pods', 'builder-0', 'uid-of-another', { spec: { serviceAccountName: 'builder' } }, 'ci');
    await cluster.start();
    await expect.poll(() => uidOf(pod)).toBe('uid-of-another');
    expect([await codeFor(server, bound), await codeFor(server, unbound)]).toEqual([401, 200]);
    cluster.remove('/serviceaccounts', 'ci/builder');
    await expect.poll(() => codeFor(server, unbound)).toBe(401);
    await connector.stop();
  });

  it('A49: stay as they are if the address leads to another cluster after an interruption', async () => {
    const connector = start();
    await expect.poll(() => connector.written.err).toMatch(/\d names? taken/);
    await cluster.stop();
    cluster.remove('/namespaces', 'kube-system');
    put('namespaces', 'kube-system', 'another-cluster');
    cluster.remove('/pods', 'ci/builder-0');
    await cluster.start();
    await expect.poll(() => connector.written.err).toContain('is another cluster now: nothing is written');
    await connector.stop();
    expect(await uidOf(pod)).toBe('uid-of-another');
  });

  it('A49: takes a UID only with the verb mirror', async () => {
    const metadata = { name: 'x', uid: 'chosen', annotations: { 'clusterpass.dev/mirrored-from': IDENTITY } };
    const path = inNamespace('serviceaccounts', 'ci', 'real');
    const rules = [may('create', 'serviceaccounts')];
    await grant(server, { to: 'mirror', rules });
    const post = (body: object) => server.call('POST', path, { token: tokenOf('mirror'), body });
    const refused = await post({ metadata });
    expect([refused.code, refused.json.message]).toEqual([
      403,
      expect.stringContaining('cannot mirror resource "serviceaccounts"'),
    ]);
    expect((await post({ metadata: { name: 'plain', uid: 'chosen' } })).json.metadata.uid).not.toBe('chosen');
    const { uid: _, ...withoutUid } = metadata;
    expect((await server.call('POST', path, { body: { metadata: withoutUid } })).json.message).toContain(
      'metadata.uid: Required',
    );
    const bad = await server.call('POST', path, { body: { metadata: { ...metadata, uid: 'a b' } } });
    expect(bad.json.message).toContain('metadata.uid: Invalid value');
    // The program that mirrors may `get` the cluster only, and so does not see its identity.
    const elsewhere = { ...metadata, annotations: { 'clusterpass.dev/mirrored-from': 'another-cluster' } };
    const foreign = await server.call('POST', path, { body: { metadata: elsewhere } });
    expect([foreign.code, foreign.json.message]).toEqual([
      409,
      expect.stringContaining('a copy from another cluster than "real"'),
    ]);
    expect((await server.call('POST', path, { body: { metadata } })).json.metadata.uid).toBe('chosen');
  });

  it('AP-17: server-side apply creates a copy with its UID, under the same conditions', async () => {
    const metadata = { name: 'applied', annotations: { 'clusterpass.dev/mirrored-from': IDENTITY } };
    const path = `${inNamespace('serviceaccounts', 'ci', 'real')}/applied?fieldManager=test`;
    const apply = (uid: string | undefined, token?: string) =>
      server.call('PATCH', path, {
        body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...metadata, uid } },
        headers: { 'Content-Type': 'application/apply-patch+yaml' },
        ...(token === undefined ? {} : { token }),
      });
    expect((await apply(undefined)).json.message).toContain('metadata.uid: Required');
    expect((await apply('a b')).json.message).toContain('metadata.uid: Invalid value');
    await grant(server, { to: 'mirror', rules: [may('create', 'serviceaccounts'), may('patch', 'serviceaccounts')] });
    const refused = await apply('chosen', tokenOf('mirror'));
    expect([refused.code, refused.json.message]).toEqual([403, expect.stringContaining('cannot mirror resource')]);
    const codes: [number, string][] = [];
    for (const uid of ['chosen-too', 'chosen-too', undefined]) {
      const { code, json } = await apply(uid);
      codes.push([code, json.metadata.uid]);
    }
    expect(codes).toEqual([201, 200, 200].map((code) => [code, 'chosen-too']));
  });
});
