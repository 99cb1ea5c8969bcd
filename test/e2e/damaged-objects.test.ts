import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createParents, KINDS, type KindCase, objectOf } from './support/kinds.ts';
import { asUser, bind, codeFor, create, createAccount, issue, remove } from './support/objects.ts';
import { runStore } from './support/run-command.ts';
import { type Server, startServer } from './support/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: objects of every kind, and damaged ones
type AnyObject = any;

const FORMS = ['', 'as=Table;v=v1;g=meta.k8s.io', 'as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'];
const PROFILES = '/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles';

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

describe('A18: objects in the store whose fields have wrong types', () => {
  let server: Server;
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
    db.close();
    server = await server.restart();
  });
  afterAll(() => server.destroy());

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

  it('in the bookkeeping of field managers: the object is served and can be changed', async () => {
    const path = `${KINDS[0]?.path}/wrong-managers`;
    expect((await server.call('GET', path)).json.metadata.managedFields).toEqual([]);
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const patched = await server.call('PATCH', path, { body: { metadata: { labels: { a: 'b' } } }, headers });
    expect(patched.code, patched.text).toBe(200);
  });

  it('are left out of computed documents', async () => {
    const { code, text } = await server.call('GET', PROFILES);
    expect(code, text).toBe(200);
  });

  it('grant nothing, and a revoked token stays revoked', async () => {
    const pods = await server.call('GET', '/orchestrator/alpha/api/v1/namespaces/ci/pods/good', asUser('jane'));
    expect(pods.code, pods.text).toBe(403);
    expect(await codeFor(server, revoked)).toBe(401);
  });

  it('are named, with the field, in the log and by store check', async () => {
    const named = /"the value of \S+\/clusters\/wrong-metadata cannot be decoded: metadata\.managedFields is a number"/;
    await expect.poll(() => server.output.stderr).toMatch(named);
    await server.stop();
    const { code, stderr } = await runStore('check', '--data-dir', server.dataDir);
    expect(code).toBe(1);
    expect(stderr).toMatch(/\/clusters\/wrong-metadata: metadata\.managedFields is a number\n/);
    expect(stderr).toMatch(/\/pods\/alpha\/ci\/wrong-content: metadata\.labels is null\n/);
    expect(stderr).toMatch(/\/clusterroles\/all: rules\[0\]\.verbs is a string\n/);
  });
});
