import { describe, expect, it } from 'vitest';
import { at, catalog, make, type Objects, object, openObjects } from '../../test/objects/object-store.ts';
import type { Store } from '../storage/contract.ts';
import { exportStore, readArchive } from './archive.ts';
import { checkStore } from './check-store.ts';
import { compareServer, type ServedList } from './compare-server.ts';

/** A store with an object of every depth, and a key that is no object. */
async function openFleet(): Promise<Objects> {
  const objects = await openObjects();
  const endpoints = { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://10.0.0.1:6443' }] };
  const spec = { orchestratorApiEndpoints: endpoints };
  await objects.writer.create(catalog.clusters, at('', '', ''), { ...object({ name: 'a' }), spec }, { dryRun: false });
  await make(objects, catalog.namespaces, at('a', '', 'ci'));
  await make(objects, catalog.serviceAccounts, at('a', 'ci', 'builder'));
  await make(objects, catalog.clusterRoles, at('', '', 'admin'));
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' };
  const binding = { ...object({ name: 'admins' }), roleRef };
  await objects.writer.create(catalog.clusterRoleBindings, at('', '', ''), binding, { dryRun: false });
  await put(objects, '/internal/ring', 'sealed');
  return objects;
}

const put = async ({ store }: Pick<Objects, 'store'>, key: string, value: string | object): Promise<void> => {
  const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  expect(await store.write({ key, value: bytes, expect: { absent: true } })).toMatchObject({ ok: true });
};

const CLUSTER = '/registry/clusters/a';
const NAMESPACE = '/registry/namespaces/a/ci';
const ACCOUNT = '/registry/serviceaccounts/a/ci/builder';

describe('the check of a store', () => {
  it('counts what there is, and has nothing to say about a good one', async () => {
    const { store } = await openFleet();
    const { counts, problems, revision } = await checkStore(store, catalog);
    expect([Object.fromEntries(counts), problems, revision]).toEqual([
      { clusters: 1, namespaces: 1, serviceaccounts: 1, clusterroles: 1, clusterrolebindings: 1, internal: 1 },
      [],
      await store.revision(),
    ]);
  });

  it.each<[string, string | object, readonly string[]]>([
    ['/registry/later/x', {}, ['no kind of this release has such keys']],
    ['/registry/clusterroles/x', '{', ['its value is not JSON']],
    ['/registry/clusterroles/x', { metadata: { name: 'x', uid: '' } }, ['has no uid']],
    ['/registry/clusterroles/x', { metadata: { name: 'x' } }, ['has no uid']],
    [
      '/registry/clusterroles/x',
      { metadata: { name: 'y', uid: 'u' } },
      ['its name, namespace or cluster does not match its key'],
    ],
    [
      '/registry/fleetrolebindings/x',
      { metadata: { name: 'x', uid: 'u' }, spec: { roleRef: { kind: 'ClusterRole', name: 'x' } } },
      ['spec.clusters: Required value: exactly one of all, names, selector'],
    ],
    [
      '/registry/namespaces/none/x',
      { metadata: { name: 'x', uid: 'u' } },
      ['its parent /registry/clusters/none does not exist'],
    ],
    [
      '/registry/serviceaccounts/a/none/x',
      { metadata: { name: 'x', namespace: 'none', uid: 'u' } },
      ['its parent /registry/namespaces/a/none does not exist'],
    ],
    [
      '/registry/serviceaccounts/none/ci/x',
      { metadata: { name: 'x', namespace: 'ci', uid: 'u' } },
      ['its parent /registry/clusters/none does not exist', 'its parent /registry/namespaces/none/ci does not exist'],
    ],
  ])('names what is wrong with %s: %j', async (key, value, expected) => {
    const objects = await openFleet();
    await put(objects, key, value);
    const { problems } = await checkStore(objects.store, catalog);
    expect(problems).toEqual(expected.map((problem) => `${key}: ${problem}`));
  });

  it('names a uid that two objects have', async () => {
    const objects = await openFleet();
    const { uid } = JSON.parse(Buffer.from((await objects.store.get(CLUSTER))?.value ?? []).toString()).metadata;
    await put(objects, '/registry/clusters/b', { metadata: { name: 'b', uid } });
    const { problems } = await checkStore(objects.store, catalog);
    expect(problems).toEqual([`/registry/clusters/b: has the same uid as ${CLUSTER}`]);
  });
});

describe('the comparison of a server with its store', () => {
  /** What a server with the contents of this store answers, by path. */
  async function servedFrom(store: Store, productName = 'orchestrator'): Promise<Map<string, ServedList>> {
    const lists = new Map<string, ServedList>();
    const revision = await store.revision();
    const add = async (path: string, prefix: string): Promise<void> => {
      const { items } = await store.list({ prefix });
      lists.set(`${path}`, {
        metadata: { resourceVersion: String(revision) },
        items: items.map(({ value, modRevision }) => {
          const { metadata } = JSON.parse(Buffer.from(value).toString());
          return { metadata: { ...metadata, resourceVersion: String(modRevision) } };
        }),
      });
    };
    for (const { group, version, resource, inCluster } of catalog.kinds) {
      const root = `${group === '' ? '/api' : `/apis/${group}`}/${version}/${resource}`;
      if (inCluster) await add(`/${productName}/a${root}`, `/registry/${resource}/a/`);
      else await add(root, `/registry/${resource}/`);
    }
    return lists;
  }
  const from = (lists: ReadonlyMap<string, ServedList>) => async (path: string) => {
    const found = lists.get(path);
    if (found === undefined) throw new Error(`nothing is served at ${path}`);
    return found;
  };
  const compare = (store: Store, lists: ReadonlyMap<string, ServedList>) =>
    compareServer({ store, catalog, productName: 'orchestrator' }, from(lists));
  const ACCOUNTS = '/orchestrator/a/api/v1/serviceaccounts';
  const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';

  it('finds no difference to a server that has everything, also if the store has moved on since', async () => {
    const objects = await openFleet();
    const lists = await servedFrom(objects.store);
    expect(await compare(objects.store, lists)).toEqual({ compared: 5, problems: [] });
    await make(objects, catalog.clusterRoles, at('', '', 'later'));
    await make(objects, catalog.serviceAccounts, at('a', 'ci', 'later'));
    expect(await compare(objects.store, lists)).toEqual({ compared: 5, problems: [] });
  });

  it.each([ACCOUNTS, ROLES, BINDINGS])('names what differs at %s', async (path) => {
    const { store } = await openFleet();
    const lists = await servedFrom(store);
    const list = lists.get(path) as ServedList;
    const [item] = list.items as [ServedList['items'][number]];
    const { resourceVersion, name } = item.metadata;
    const problemsWith = async (items: ServedList['items']) =>
      (await compare(store, new Map([...lists, [path, { ...list, items }]]))).problems.map((text) =>
        text.slice(text.lastIndexOf('/') + 1),
      );
    const like = (changes: object) => ({ metadata: { ...item.metadata, ...changes } });
    expect(await problemsWith([])).toEqual([`${name}: the store has version ${resourceVersion}, the server none`]);
    expect(await problemsWith([like({ resourceVersion: '1' })])).toEqual([
      `${name}: the store has version ${resourceVersion}, the server version 1`,
    ]);
    expect(await problemsWith([item, like({ name: 'gone' })])).toEqual([
      `gone: the store has none, the server version ${resourceVersion}`,
    ]);
  });
});

describe('the export of a store', () => {
  it('is of one revision, and without the keys of the engine', async () => {
    const objects = await openFleet();
    await put(objects, '/internal/time', '1');
    const before = await objects.store.revision();
    const lines = exportStore(objects.store);
    const text: string[] = [];
    let result = await lines.next();
    await make(objects, catalog.clusterRoles, at('', '', 'later'));
    for (; !result.done; result = await lines.next()) text.push(result.value.trimEnd());
    expect(result.value).toEqual({ items: 6, revision: before });
    const { revision, items } = await readArchive(
      (async function* () {
        yield* text;
      })(),
    );
    expect([revision, items.map(({ key }) => key).toSorted()]).toEqual([
      before,
      [
        '/internal/ring',
        '/registry/clusterrolebindings/admins',
        '/registry/clusterroles/admin',
        ...[CLUSTER, NAMESPACE, ACCOUNT],
      ].toSorted(),
    ]);
  });
});
