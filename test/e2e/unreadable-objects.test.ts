import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import {
  asUser,
  bind,
  create,
  createAccount,
  createCluster,
  createNamespace,
  inNamespace,
  remove,
} from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import type { Answer, Server } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';

const namespaces = (cluster: string): string => `/orchestrator/${cluster}/api/v1/namespaces`;
const UNSAFE = { kind: 'DeleteOptions', apiVersion: 'v1', ignoreStoreReadErrorWithClusterBreakingPotential: true };
const CLUSTER = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' };

/** Storage keys whose values are no JSON. */
const DAMAGED = [
  '/namespaces/alpha/ci',
  '/serviceaccounts/alpha/shop/builder',
  '/namespaces/held/ci',
  '/clusters/beta',
  '/namespaces/beta/ci',
  '/serviceaccounts/gamma/ci/builder',
  '/clusterroles/clusterpass:viewer',
  '/clusterrolebindings/system:discovery',
];
const PASSES = '/apis/clusterpass.dev/v1alpha1/passes';
const SIGNING_KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';

describe('Z-06: objects in the store that cannot be decoded', () => {
  let server: Server;
  let keyNames: string[];
  let handle: string;
  beforeAllWithServer(async (shared) => {
    server = shared;
    for (const cluster of ['alpha', 'held', 'beta', 'gamma']) {
      await createCluster(server, cluster);
      for (const namespace of ['ci', 'shop']) {
        await createNamespace(server, namespace, cluster);
        const finalizers = cluster === 'held' ? ['example.com/wait'] : [];
        for (const name of ['builder', 'other']) {
          await create(server, inNamespace('serviceaccounts', namespace, cluster), { metadata: { name, finalizers } });
        }
      }
    }
    await bind(
      server,
      'deleters',
      { kind: 'User', name: 'jane' },
      {
        verbs: ['get', 'delete'],
        apiGroups: [''],
        resources: ['serviceaccounts'],
      },
    );
    const serviceAccount = { namespace: 'ci', name: 'other' };
    const spec = { cluster: 'gamma', serviceAccount, purpose: 'for the test' };
    const type = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'Pass' };
    handle = (await create(server, PASSES, { ...type, spec })).metadata.name;
    const keys = (await server.call('GET', SIGNING_KEYS)).json.items;
    keyNames = keys.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    await server.stop();
    const db = new DatabaseSync(join(server.dataDir, 'clusterpass.db'));
    const damage = db.prepare('UPDATE log SET value = CAST(\'{"metadata":\' AS BLOB) WHERE key = ?');
    const keysDamaged = [...DAMAGED, `/signingkeys/${keyNames[0]}`, `/passes/${handle}`];
    // All versions of an object.
    const changes = keysDamaged.map((key) => damage.run(`/registry${key}`).changes);
    db.close();
    server = await server.restart();
    expect(changes).not.toContain(0);
  });
  const account = inNamespace('serviceaccounts/builder', 'ci', 'gamma');
  const expectStatus = ({ text, json }: Answer, code: number, reason: string): void =>
    expect(json, text).toMatchObject({ kind: 'Status', code, reason });
  const deleteUnsafely = (path: string, options: object = {}): Promise<Answer> =>
    server.call('DELETE', path, { body: { ...UNSAFE, ...options } });

  it('are not reported as missing: every request for one is a StorageReadError', async () => {
    const message = /^serviceaccounts "builder" is in the store, but its value cannot be decoded/;
    const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'builder', namespace: 'ci' } };
    const apply = { 'Content-Type': 'application/apply-patch+yaml' };
    const answers = [
      await server.call('GET', account),
      await server.call('GET', `${account}?resourceVersion=0`),
      await server.call('PUT', account, { body }),
      await server.call('PATCH', `${account}?fieldManager=test`, { body, headers: apply }),
      await server.call('DELETE', account),
      await server.call('POST', inNamespace('serviceaccounts', 'ci', 'gamma'), { body }),
      await server.call('POST', `${inNamespace('serviceaccounts', 'ci', 'gamma')}?dryRun=All`, { body }),
    ];
    for (const { code, json } of answers) {
      expect(json).toMatchObject({ code: 500, reason: 'StorageReadError', message: expect.stringMatching(message) });
      expect(code).toBe(500);
    }
    const within = await server.call('POST', inNamespace('serviceaccounts', 'ci', 'beta'), { body });
    expect(within.json).toMatchObject({ code: 500, reason: 'StorageReadError', details: { name: 'beta' } });
  });

  it('are deleted with an option of Kubernetes, which is for them alone and takes its own permission', async () => {
    const other = inNamespace('serviceaccounts/other', 'ci', 'gamma');
    const refused = await deleteUnsafely(other);
    expectStatus(refused, 422, 'Invalid');
    expect(refused.json.message).toContain('is exclusively used to delete corrupt object(s)');
    expect((await server.call('GET', other)).code).toBe(200);
    expectStatus(await deleteUnsafely(inNamespace('serviceaccounts/none', 'ci', 'gamma')), 404, 'NotFound');
    for (const options of [
      { dryRun: ['All'] },
      { preconditions: { uid: 'a' } },
      { gracePeriodSeconds: 0 },
      { propagationPolicy: 'Background' },
      { orphanDependents: true },
    ]) {
      expectStatus(await deleteUnsafely(account, options), 422, 'Invalid');
    }
    expectStatus(await server.call('DELETE', account, { ...asUser('jane'), body: UNSAFE }), 403, 'Forbidden');

    const twice =
      '?ignoreStoreReadErrorWithClusterBreakingPotential=false&ignoreStoreReadErrorWithClusterBreakingPotential=true';
    expectStatus(await server.call('DELETE', `${account}${twice}`), 400, 'BadRequest');
    const openapi = (await server.call('GET', '/orchestrator/gamma/openapi/v3/api/v1')).text;
    expect(openapi).toContain('"ignoreStoreReadErrorWithClusterBreakingPotential","in":"query"');

    const deleted = await deleteUnsafely(account);
    expect(deleted.code, deleted.text).toBe(200);
    expect((await server.call('GET', account)).code).toBe(404);
    await createAccount(server, 'builder', 'ci', 'gamma');

    // A handle is deleted by its requester as a rule, and this one has none that could be read.
    expectStatus(
      await server.call('DELETE', `${PASSES}/${handle}`, { ...asUser('jane'), body: UNSAFE }),
      403,
      'Forbidden',
    );
    expect((await deleteUnsafely(`${PASSES}/${handle}`)).code).toBe(200);
    expectStatus(await deleteUnsafely(`${PASSES}/${handle}`), 404, 'NotFound');
    expectStatus(await deleteUnsafely(inNamespace('serviceaccounts', 'ci', 'gamma')), 422, 'Invalid');
  });

  it('are deleted with everything inside them', async () => {
    const path = `${CLUSTERS}/beta`;
    const deleted = await server.call('DELETE', `${path}?ignoreStoreReadErrorWithClusterBreakingPotential=true`);
    expect(deleted.code, deleted.text).toBe(200);
    await create(server, CLUSTERS, { ...CLUSTER, metadata: { name: 'beta' } });
    await expectEmpty('beta');
  });

  it('are deleted with their cluster, and so are readable objects inside them', async () => {
    await remove(server, `${CLUSTERS}/alpha`);
    expect((await server.call('GET', `${CLUSTERS}/alpha`)).code).toBe(404);
    await create(server, CLUSTERS, { ...CLUSTER, metadata: { name: 'alpha' } });
    await expectEmpty('alpha');
  });

  it('leave objects with finalizers inside them, and the cluster waits for those', async () => {
    await remove(server, `${CLUSTERS}/held`);
    for (const name of ['builder', 'other']) {
      const path = inNamespace(`serviceaccounts/${name}`, 'ci', 'held');
      expect((await server.call('GET', path)).json.metadata.deletionTimestamp).toBeDefined();
      const headers = { 'Content-Type': 'application/merge-patch+json' };
      for (const namespace of ['ci', 'shop']) {
        const { code, text } = await server.call('PATCH', inNamespace(`serviceaccounts/${name}`, namespace, 'held'), {
          body: { metadata: { finalizers: null } },
          headers,
        });
        expect(code, text).toBe(200);
      }
    }
    expect((await server.call('GET', `${CLUSTERS}/held`)).code).toBe(404);
    await create(server, CLUSTERS, { ...CLUSTER, metadata: { name: 'held' } });
    await expectEmpty('held');
  });

  it('of the server itself do not keep it from starting, and are created again after their deletion', async () => {
    const paths = [
      `${RBAC}/clusterroles/clusterpass:viewer`,
      `${RBAC}/clusterrolebindings/system:discovery`,
      `${SIGNING_KEYS}/${keyNames[0]}`,
    ];
    for (const path of paths) {
      expectStatus(await server.call('GET', path), 500, 'StorageReadError');
      const deleted = await deleteUnsafely(path);
      expect(deleted.code, deleted.text).toBe(200);
    }
    expect(server.output.stderr).not.toContain('the SigningKey objects could not be written');
    await server.stop();
    server = await server.restart();
    for (const path of paths) await expect.poll(async () => (await server.call('GET', path)).code).toBe(200);
    const { items } = (await server.call('GET', SIGNING_KEYS)).json;
    expect(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(keyNames);
  });

  /** A cluster that was created again under the name of a deleted one has nothing of it. */
  async function expectEmpty(cluster: string): Promise<void> {
    expect((await server.call('GET', namespaces(cluster))).json.items).toEqual([]);
    for (const namespace of ['ci', 'shop']) {
      await createNamespace(server, namespace, cluster);
      expect((await server.call('GET', inNamespace('serviceaccounts', namespace, cluster))).json.items).toEqual([]);
      await createAccount(server, 'builder', namespace, cluster);
    }
  }
});
