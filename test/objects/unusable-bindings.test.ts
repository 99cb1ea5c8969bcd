import { expect, it } from 'vitest';
import { storageKey } from '../../src/api/kind.ts';
import { reportUnusableBindings } from '../../src/authz/unusable-bindings.ts';
import { at, catalog, openObjects } from './object-store.ts';

it('A29: a stored binding that the API would refuse is reported, at the start and when it is written', async () => {
  const { store, reader, reflector } = await openObjects();
  const reported: object[] = [];
  const listener = reportUnusableBindings(catalog, reader, { warn: (fields: object) => reported.push(fields) });
  reflector.listen(listener);
  // As another writer of the store would: the API refuses such a binding.
  const put = async (name: string, metadata: object, kind = catalog.clusterRoleBindings, spec?: object) => {
    const value = Buffer.from(JSON.stringify({ kind: kind.kind, metadata: { name, uid: name, ...metadata }, spec }));
    const key = storageKey(kind, at('', '', name));
    const { revision } = await store.write({ key, value, expect: { absent: true } });
    await reflector.waitFor(revision);
  };
  await put('good', { annotations: { 'example.com/clusters': 'env=dev' }, labels: { team: 'a' } });
  await put('label', { labels: { 'clusterpass.dev/clusters': 'dev' } });
  await put('annotation', { annotations: { 'clusterpass.dev/clusters': 'env=dev' } });
  const role = { kind: 'ClusterRole', name: 'x' };
  await put('whole', {}, catalog.fleetRoleBindings, { roleRef: role, clusters: { all: true } });
  await put('empty', {}, catalog.fleetRoleBindings, { roleRef: role, clusters: { selector: {} } });
  await put('ending', { deletionTimestamp: '2026-08-01T00:00:00Z', finalizers: ['example.com/x'] });
  const expected = [
    { binding: 'ClusterRoleBinding/label', reason: expect.stringContaining('is not a label') },
    { binding: 'ClusterRoleBinding/annotation', reason: expect.stringContaining('use the field spec.clusters') },
    {
      binding: 'FleetRoleBinding/empty',
      reason: expect.stringMatching(/^spec.clusters.selector: .*an empty selector/),
    },
  ];
  expect(reported).toEqual(expected);
  reported.length = 0;
  listener.onReset(reflector.revision);
  expect(reported).toHaveLength(expected.length);
  expect(reported).toEqual(expect.arrayContaining(expected));

  for (let index = 0; index < 21; index++) await put(`more-${index}`, { labels: { 'clusterpass.dev/clusters': 'x' } });
  reported.length = 0;
  listener.onReset(reflector.revision);
  expect([reported.length, reported.at(-1)], 'of 24').toEqual([21, { count: 4 }]);
});
