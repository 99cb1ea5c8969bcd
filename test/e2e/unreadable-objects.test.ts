import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createParents, KINDS, type KindCase, objectOf } from './support/kinds.ts';
import {
  asUser,
  bind,
  codeFor,
  create,
  createAccount,
  createCluster,
  createNamespace,
  inNamespace,
  issue,
  remove,
} from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { runStore } from './support/run-command.ts';
import { type Answer, type Server, startServer } from './support/server.ts';

/** Objects that another program has written to the database: no JSON, or fields of wrong types. */

// biome-ignore lint/suspicious/noExplicitAny: objects of every kind, and damaged ones
type AnyObject = any;

const FORMS = ['', 'as=Table;v=v1;g=meta.k8s.io', 'as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'];
/** Written by another program: two objects of each kind, one with wrong types in its metadata, one in its content. */
const DAMAGE: Readonly<Record<string, (object: AnyObject) => void>> = {
  'wrong-metadata': (object) => {
    object.metadata.managedFields = 5;
  },
  'wrong-content': (object) => {
    object.metadata.labels = null;
    if (object.spec?.apiEndpoints !== undefined) object.spec.apiEndpoints.serverEndpoints = 'text';
  },
};

const namespaces = (cluster: string): string => `/orchestrator/${cluster}/api/v1/namespaces`;
const CLUSTER = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' };

/** Storage keys whose values are no JSON. */
const DAMAGED = [
  '/namespaces/omega/ci',
  '/serviceaccounts/omega/shop/builder',
  '/namespaces/held/ci',
  '/clusters/beta',
  '/namespaces/beta/ci',
  '/serviceaccounts/gamma/ci/builder',
  '/clusterroles/clusterpass:viewer',
  '/clusterrolebindings/system:discovery',
];
const PASSES = '/apis/clusterpass.dev/v1alpha1/passes';
const SIGNING_KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';

let server: Server;
let keyNames: string[];
let handle: string;
let revoked: string;

beforeAll(async () => {
  server = await startServer({ users: { jane: [] } });
  await createParents(server);
  for (const kind of KINDS) {
    for (const name of ['good', ...Object.keys(DAMAGE)]) {
      await create(server, kind.path, objectOf(kind, { name, labels: { of: 'test' } }));
    }
  }
  await create(server, KINDS[0]?.path ?? '', objectOf(KINDS[0] as KindCase, { name: 'wrong-managers' }));
  await bind(server, 'all', { kind: 'User', name: 'jane' }, { verbs: ['get'], apiGroups: [''], resources: ['pods'] });
  await createAccount(server, 'builder');
  revoked = await issue(server);
  await remove(server, `/apis/clusterpass.dev/v1alpha1/issuedtokens/${decodeJwt(revoked).jti}`);
  for (const cluster of ['omega', 'held', 'beta', 'gamma']) {
    await createCluster(server, cluster);
    for (const namespace of ['ci', 'shop']) {
      await createNamespace(server, namespace, cluster);
      const finalizers = cluster === 'held' ? ['example.com/wait'] : [];
      for (const name of ['builder', 'other']) {
        await create(server, inNamespace('serviceaccounts', namespace, cluster), { metadata: { name, finalizers } });
      }
    }
  }
  const serviceAccount = { namespace: 'ci', name: 'other' };
  const spec = { cluster: 'gamma', serviceAccount, purpose: 'for the test' };
  const type = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'Pass' };
  handle = (await create(server, PASSES, { ...type, spec })).metadata.name;
  const keys = (await server.call('GET', SIGNING_KEYS)).json.items;
  keyNames = keys.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  await server.stop();
  const db = new DatabaseSync(join(server.dataDir, 'clusterpass.db'));
  const rows = db.prepare('SELECT revision, key, value FROM log WHERE value IS NOT NULL').all() as AnyObject[];
  const change = (row: AnyObject, how: (object: AnyObject) => void): void => {
    const object = JSON.parse(Buffer.from(row.value).toString());
    how(object);
    db.prepare('UPDATE log SET value = ? WHERE revision = ?').run(Buffer.from(JSON.stringify(object)), row.revision);
  };
  for (const row of rows) {
    const damage = DAMAGE[row.key.slice(row.key.lastIndexOf('/') + 1)];
    if (damage !== undefined) change(row, damage);
    else if (row.key.endsWith('/clusters/wrong-managers')) {
      change(row, (cluster) => {
        cluster.metadata.managedFields[0].fieldsV1 = '{"f:spec":';
      });
    } else if (row.key.endsWith('/clusterroles/all')) {
      change(row, (role) => {
        for (const field of ['verbs', 'apiGroups', 'resources']) role.rules[0][field] = '*pods get create';
      });
    } else if (row.key.includes('/revokedtokens/')) {
      change(row, (revocation) => {
        revocation.spec.expirationTimestamp = 5;
      });
    }
  }
  const damage = db.prepare('UPDATE log SET value = CAST(\'{"metadata":\' AS BLOB) WHERE key = ?');
  const keysDamaged = [...DAMAGED, `/signingkeys/${keyNames[0]}`, `/passes/${handle}`];
  // All versions of an object.
  const changes = keysDamaged.map((key) => damage.run(`/registry${key}`).changes);
  db.close();
  server = await server.restart();
  expect(changes).not.toContain(0);
});
afterAll(() => server.destroy());

describe('A18: objects in the store whose fields have wrong types', () => {
  it.each(KINDS)('are left out of lists, and the others are served: $kind', async ({ path }) => {
    for (const form of FORMS) {
      const { code, text } = await server.call('GET', `${path}?labelSelector=of%3Dtest`, {
        headers: { Accept: `application/json;${form}` },
      });
      expect(code, text).toBe(200);
      expect(text).toContain('"good"');
      expect(text).not.toContain('"wrong-');
    }
    for (const name of Object.keys(DAMAGE)) expect((await server.call('GET', `${path}/${name}`)).code).toBe(500);
    expect((await server.call('GET', `${path}/good`)).code).toBe(200);
  });

  it('grant nothing, and a revoked token stays revoked', async () => {
    const pods = await server.call('GET', '/orchestrator/alpha/api/v1/namespaces/ci/pods/good', asUser('jane'));
    expect(pods.code, pods.text).toBe(403);
    expect(await codeFor(server, revoked)).toBe(401);
  });
});

describe('Z-06: objects in the store that cannot be decoded', () => {
  const account = inNamespace('serviceaccounts/builder', 'ci', 'gamma');
  const expectStatus = ({ text, json }: Answer, code: number, reason: string): void =>
    expect(json, text).toMatchObject({ kind: 'Status', code, reason });

  it('are not reported as missing: every request for one is a StorageReadError', async () => {
    const message = /^serviceaccounts "builder" is in the store, but its value cannot be decoded/;
    const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'builder', namespace: 'ci' } };
    const apply = { 'Content-Type': 'application/apply-patch+yaml' };
    const answers = [
      await server.call('GET', account),
      await server.call('GET', `${account}?resourceVersion=0`),
      await server.call('PUT', account, { body }),
      await server.call('PATCH', `${account}?fieldManager=test`, { body, headers: apply }),
      await server.call('DELETE', `${account}?dryRun=All`),
      await server.call('DELETE', account, { body: { preconditions: { uid: 'a' } } }),
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

  it('are deleted with the permission to delete them, also where a requester needs none', async () => {
    expectStatus(await server.call('DELETE', account, asUser('jane')), 403, 'Forbidden');
    await remove(server, account);
    expect((await server.call('GET', account)).code).toBe(404);
    await createAccount(server, 'builder', 'ci', 'gamma');
    // A handle is deleted by its requester as a rule, and this one has none that could be read.
    expectStatus(await server.call('DELETE', `${PASSES}/${handle}`, asUser('jane')), 403, 'Forbidden');
    await remove(server, `${PASSES}/${handle}`);
    expectStatus(await server.call('DELETE', `${PASSES}/${handle}`), 404, 'NotFound');
  });

  it('are deleted with everything inside them', async () => {
    await remove(server, `${CLUSTERS}/beta`);
    await create(server, CLUSTERS, { ...CLUSTER, metadata: { name: 'beta' } });
    await expectEmpty('beta');
  });

  it('are deleted with their cluster, and so are readable objects inside them', async () => {
    await remove(server, `${CLUSTERS}/omega`);
    expect((await server.call('GET', `${CLUSTERS}/omega`)).code).toBe(404);
    await create(server, CLUSTERS, { ...CLUSTER, metadata: { name: 'omega' } });
    await expectEmpty('omega');
  });

  it('leave objects with finalizers inside them, and the cluster waits for those', async () => {
    await remove(server, `${CLUSTERS}/held`);
    for (const name of ['builder', 'other']) {
      const path = inNamespace(`serviceaccounts/${name}`, 'ci', 'held');
      expect((await server.call('GET', path)).json.metadata.deletionTimestamp).toBeDefined();
      for (const namespace of ['ci', 'shop']) {
        const { code, text } = await server.call('PATCH', inNamespace(`serviceaccounts/${name}`, namespace, 'held'), {
          body: { metadata: { finalizers: null } },
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
      await remove(server, path);
    }
    expect(server.output.stderr).not.toContain('the SigningKey objects could not be written');
    await server.stop();
    // Those of the tests above are named by store check, too.
    const { code, stderr } = await runStore('check', '--data-dir', server.dataDir);
    expect(code).toBe(1);
    expect(stderr).toMatch(/\/clusters\/wrong-metadata: metadata\.managedFields is a number\n/);
    expect(stderr).toMatch(/\/pods\/alpha\/ci\/wrong-content: metadata\.labels is null\n/);
    expect(stderr).toMatch(/\/clusterroles\/all: rules\[0\]\.verbs is a string\n/);
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
