import { expect, it } from 'vitest';
import { storageKey } from '../../src/api/kind.ts';
import { Policy } from '../../src/authz/policy/policy.ts';
import { binding, fleetBinding, person, role } from '../../src/authz/policy/rbac.fixture.ts';
import { PolicyUpdater } from '../../src/authz/policy-updater.ts';
import { at, catalog, make, type Objects, openObjects } from './object-store.ts';

const A = at('', '', 'a');
const PODS = { verb: 'get', group: '', resource: 'pods', subresource: '', namespace: 'n', name: '', cluster: 'a' };
const jane = person('jane');

const policyOf = ({ reader }: Pick<Objects, 'reader'>): Policy =>
  new Policy({
    labelsOf: (name) => reader.find(catalog.clusters, at('', '', name))?.labels ?? {},
  });

it('A29: a role that is deleted grants nothing, also while a finalizer keeps it', async () => {
  const objects = await openObjects();
  const { reader, writer, reflector } = objects;
  const policy = policyOf(objects);
  const updater = new PolicyUpdater({ policy, reader, catalog, onOrphaned: () => {} });
  reflector.listen(updater);
  const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];
  const [R, SUM] = [at('', '', 'r'), at('', '', 'sum')];
  const held = role('r', rules);
  const metadata = { ...held.metadata, labels: { part: 'sum' }, finalizers: ['example.com/x'] };
  await writer.create(catalog.clusterRoles, R, { ...held, metadata }, { dryRun: false });
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { part: 'sum' } }] };
  await writer.create(catalog.clusterRoles, SUM, { ...role('sum', []), aggregationRule }, { dryRun: false });
  for (const name of ['r', 'sum']) {
    const object = binding(name, `ClusterRole/${name}`, [`User:has-${name}`]);
    await writer.create(catalog.clusterRoleBindings, at('', '', name), object, { dryRun: false });
  }
  const decisions = (): boolean[] => ['has-r', 'has-sum'].map((name) => policy.decide(person(name), PODS).allowed);
  await reader.catchUp();
  expect(decisions()).toEqual([true, true]);
  expect((await writer.remove(catalog.clusterRoles, R, { dryRun: false })).gone).toBe(false);
  await reader.catchUp();
  expect(decisions()).toEqual([false, false]);
  // A caller who may not bind a role cannot prepare a binding for the next role of that name.
  expect(policy.rulesOf({ kind: 'ClusterRole', namespace: '', name: 'r' })).toBeUndefined();
  updater.onReset(reflector.revision);
  expect(decisions()).toEqual([false, false]);
});

it('A29: a binding that is bound to a cluster ends with the event by which another cluster gets the name', async () => {
  const objects = await openObjects();
  const { store, reader, writer, reflector } = objects;
  const policy = policyOf(objects);
  let orphanedAt = 0;
  const updater = new PolicyUpdater({ policy, reader, catalog, onOrphaned: (revision) => (orphanedAt = revision) });
  reflector.listen(updater);
  const isAllowed = async (): Promise<boolean> => {
    await reader.catchUp();
    return policy.decide(jane, PODS).allowed;
  };
  const uidOfA = (): string => reader.find(catalog.clusters, A)?.uid ?? '';
  const grant = async (name: string, uid: string): Promise<void> => {
    const clusters = 'kubernetes.io/metadata.name=a';
    const object = fleetBinding(name, 'ClusterRole/r', ['User:jane'], { clusters, uid });
    await writer.create(catalog.fleetRoleBindings, at('', '', name), object, { dryRun: false });
  };
  const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];
  await writer.create(catalog.clusterRoles, at('', '', 'r'), role('r', rules), { dryRun: false });
  await make(objects, catalog.clusters, A);
  await reader.catchUp();

  await grant('other', uidOfA().toUpperCase());
  expect(await isAllowed()).toBe(false);
  await grant('x', uidOfA());
  expect(await isAllowed()).toBe(true);

  await writer.update(
    catalog.clusters,
    A,
    (current) => ({ ...current, metadata: { ...current.metadata, labels: { env: 'dev' } } }),
    { dryRun: false, part: 'object' },
  );
  expect([await isAllowed(), orphanedAt]).toEqual([true, 0]);
  const before = policy.changedAt(jane);

  const key = storageKey(catalog.clusters, A);
  const modRevision = (await store.get(key))?.modRevision ?? 0;
  await store.write({ key, value: null, expect: { modRevision } });
  await make(objects, catalog.clusters, A);
  expect(await isAllowed()).toBe(false);
  const after = reflector.revision;
  expect(orphanedAt).toBe(after);
  // A watch that resumes from before the end lists again.
  expect([before < after, policy.changedAt(jane)]).toEqual([true, after]);

  // A replica that starts now.
  updater.onReset(reflector.revision);
  expect(await isAllowed()).toBe(false);
  await grant('again', uidOfA());
  expect(await isAllowed()).toBe(true);
});
