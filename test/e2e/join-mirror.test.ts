import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeHub } from '../../src/sync/hub.fixture.ts';
import { applyYaml } from './support/apply.ts';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { Person } from './support/cli.ts';
import { addCluster, removeCluster } from './support/fleet.ts';
import { codeFor, createAccount, createNamespace, inNamespace, issue, remove, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { grant, may } from './support/rbac.ts';
import { type Server, tokenOf } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';
import { startCommand } from './support/sync-command.ts';

/** A cluster that registers itself, and mirrors its accounts and Pods. */

const IDENTITY = 'aaaaaaaa-0000-4000-8000-000000000001';
const BOOTSTRAP = '/apis/clusterpass.dev/v1alpha1/bootstraptokens';
const AUDIT_EVENTS = '/apis/clusterpass.dev/v1alpha1/auditeventreviews';
const ADDRESS = 'https://10.9.0.1:6443';

/** The changes of an administrator in the cluster. */
const SINCE = { name: 'edge-1', labels: { env: 'edge', owner: 'team-a' }, annotations: { contact: 'team-a' } };

let server: Server;
let admin: Person;
let cluster: FakeHub;

const put = (resource: string, name: string, uid: string, more: object = {}, namespace?: string): void => {
  const metadata = { name, uid, ...(namespace === undefined ? {} : { namespace }) };
  cluster.put(`/${resource}`, { apiVersion: 'v1', kind: 'any', metadata, ...more });
};

beforeAllWithServer(async (shared) => {
  server = shared;
  cluster = await new FakeHub({}).start();
  admin = await Person.as(server);
  await writeFile(join(admin.home, 'edge.yaml'), cluster.kubeconfig);
  put('namespaces', 'kube-system', IDENTITY);
});
afterAll(async () => {
  await cluster?.stop();
  await admin?.leave();
});

describe('clusterpass join', () => {
  const create = (...flags: string[]): Promise<string> => admin.ok(['create', 'bootstrap-token', ...flags]);
  const joins = (name: string, token: string, ...flags: string[]) =>
    admin.run(['join', name, '--kubeconfig', 'edge.yaml', '--address', ADDRESS, '--token', token.trim(), ...flags]);
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
    const dry = await joins('edge-1', token, '--dry-run', 'server');
    expect(dry.stdout).toBe('cluster.clusterregistry.k8s.io/edge-1 registered (server dry run)\n');
    expect((await joins('edge-1', token)).stdout).toBe('cluster.clusterregistry.k8s.io/edge-1 registered\n');
    expect(await clusterOf('edge-1')).toMatchObject({
      metadata: { labels: { env: 'edge' }, annotations: { 'clusterpass.dev/cluster-id': IDENTITY } },
      spec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: ADDRESS }, { serverAddress: ADDRESS }] } },
    });
    expect((await joins('edge-1', token)).stdout).toContain('edge-1 is registered already');
    // The repeated request says that it is registered, and shows no field that others wrote.
    await applyYaml(server, JSON.stringify(bodyOf('edge-1', { metadata: SINCE })));
    const path = `${BOOTSTRAP}/edge/cluster`;
    const again = await server.call('POST', path, { token: token.trim(), body: bodyOf('edge-1') });
    expect([again.code, again.json.metadata.name, again.json.spec]).toEqual([200, 'edge-1', undefined]);
    expect(again.text).not.toContain('team-a');
    const other = await joins('edge-2', token);
    expect([other.code, other.stderr]).toEqual([
      1,
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
    expect((await joins('edge-1', token)).stderr).toContain('it was already used to register cluster edge-1');
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
    const token = (await create('narrow', '--name-pattern', 'edge-*')).trim();
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
    expect(await fails('--name-pattern', 'A*')).toContain('--name-pattern: Invalid value');
    expect(await fails('--name-pattern', 'a*', '--duration', '48h')).toContain('at most 24 hours away');
    const how =
      'create one with clusterpass create bootstrap-token --name-pattern edge-9, and pass it with --token-file or ' +
      'CLUSTERPASS_TOKEN\n';
    const join9 = ['join', 'edge-9', '--kubeconfig', 'edge.yaml'];
    expect(await admin.fails(join9)).toBe(`error: the token is not a bootstrap token, which begins with cpbt_: ${how}`);
    expect(await admin.fails(join9, { env: { CLUSTERPASS_TOKEN: '' } })).toBe(`error: no bootstrap token: ${how}`);
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
    const { stderr } = await joins('edge-5', token);
    expect(stderr).toContain('its creator may not register this cluster');
    expect(stderr).not.toMatch(/granted-|pods/);
    await end();
    await revoke();
    expect((await joins('edge-5', token)).stderr).toContain('its creator may not register this cluster');
  });
});

describe('clusterpass mirror', () => {
  const once = ['mirror', '--cluster', 'real', '--kubeconfig', 'edge.yaml', '--once'];
  const uidOf = async (path: string) => (await server.call('GET', path)).json.metadata?.uid;
  const account = `${inNamespace('serviceaccounts', 'ci', 'real')}/builder`;
  const pod = `${inNamespace('pods', 'ci', 'real')}/builder-0`;

  beforeAll(async () => {
    await addCluster(server, 'real', { annotations: { 'clusterpass.dev/cluster-id': IDENTITY } });
    // Written by people before: its name is also in the cluster.
    await createNamespace(server, 'shop', 'real');
    await createAccount(server, 'cashier', 'shop', 'real');
    put('namespaces', 'ci', 'uid-of-ci');
    put('namespaces', 'shop', 'uid-of-shop');
    put('serviceaccounts', 'builder', 'uid-of-builder', {}, 'ci');
    put('serviceaccounts', 'cashier', 'uid-of-cashier', {}, 'shop');
    put('pods', 'builder-0', 'uid-of-pod', { spec: { serviceAccountName: 'builder', containers: [{}] } }, 'ci');
  });

  it('copies with the UIDs of the cluster, leaves objects of others, and writes nothing the second time', async () => {
    const dry = await admin.run([...once, '--dry-run', 'client']);
    expect(dry.stdout).toContain('real/pods/ci/builder-0 created (dry run)\n');
    expect(await uidOf(account)).toBeUndefined();
    const { code, stdout, stderr } = await admin.run(once);
    expect([code, stdout.trim().split('\n').sort()]).toEqual([
      1,
      [
        'real/namespaces/ci created',
        'real/namespaces/kube-system created',
        'real/pods/ci/builder-0 created',
        'real/serviceaccounts/ci/builder created',
      ],
    ]);
    expect(stderr).toContain('serviceaccounts/shop/cashier exists and is not of this synchronization');
    expect(await Promise.all([account, pod].map(uidOf))).toEqual(['uid-of-builder', 'uid-of-pod']);
    expect((await admin.run(once)).stdout).toBe('');
  });

  it('follows the cluster across its restart: a node, another object of the same name, a deletion', async () => {
    const path = tokenPath('builder', 'ci', 'real');
    const mirror = startCommand('mirror', { person: admin, server }, { cluster: 'real', kubeconfig: 'edge.yaml' });
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
    expect(await mirror.stop()).toBe(0);
  });

  it('A49: writes nothing if the kubeconfig leads to another cluster, also after an interruption', async () => {
    const mirror = startCommand('mirror', { person: admin, server }, { cluster: 'real', kubeconfig: 'edge.yaml' });
    await expect.poll(() => mirror.written.err).toMatch(/\d names? taken/);
    await cluster.stop();
    cluster.remove('/namespaces', 'kube-system');
    put('namespaces', 'kube-system', 'another-cluster');
    cluster.remove('/pods', 'ci/builder-0');
    await cluster.start();
    await expect.poll(() => mirror.written.err).toContain('is another cluster now: nothing is written');
    await mirror.stop();
    expect(await uidOf(pod)).toBe('uid-of-another');
    expect(await admin.fails(once)).toContain('is another cluster than real');
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
