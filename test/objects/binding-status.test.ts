import { expect, it } from 'vitest';
import { bindingStatus } from '../../src/api/kinds/fleet-role-binding.ts';
import { startBindingStatus } from '../../src/authz/binding-status.ts';
import { type FleetExtras, fleetBinding, role } from '../../src/authz/policy/rbac.fixture.ts';
import type { Work } from '../../src/lib/work-queue.ts';
import { soleLeadership } from '../../src/storage/contract.ts';
import { at, catalog, make, openObjects } from './object-store.ts';

const KIND = catalog.fleetRoleBindings;
const NOW = Date.parse('2026-11-16T18:00:00Z');

it('the status of a binding says how many clusters it reaches and why it grants nothing, and is written once', async () => {
  const objects = await openObjects();
  const { reader, writer } = objects;
  let act = (): void => {};
  let labelsChangedAt = 0;
  const looked: string[] = [];
  let turns = 0;
  const stop = startBindingStatus({
    catalog,
    policy: {
      rulesOf: ({ name }) => {
        looked.push(name);
        return name === 'absent' ? undefined : [];
      },
    },
    reader,
    writer,
    labelsChangedAt: () => labelsChangedAt,
    work: { isUsedUp: true, turn: async () => void turns++ } as unknown as Work,
    leadership: soleLeadership,
    now: () => NOW,
    every: (_, callback) => {
      act = callback;
      return () => {};
    },
    logger: { warn: (fields: object) => expect.unreachable(JSON.stringify(fields)) },
  });
  for (const name of ['a', 'b', 'c']) {
    await make(objects, catalog.clusters, at('', '', name), { labels: { env: name === 'c' ? 'prod' : 'dev' } });
  }
  await writer.create(catalog.clusterRoles, at('', '', 'r'), role('r', []), { dryRun: false });
  const put = (name: string, extras: FleetExtras, of = 'r') =>
    writer.create(KIND, at('', '', name), fleetBinding(name, `ClusterRole/${of}`, ['User:x'], extras), {
      dryRun: false,
    });
  await put('all', {});
  await put('dev', { clusters: 'env=dev' });
  await put('not-dev', { clusters: 'env!=dev' });
  await put('named', { clusters: 'kubernetes.io/metadata.name in (a,none)' });
  await put('replaced', { clusters: 'kubernetes.io/metadata.name=a', uid: 'another' });
  await put('roleless', { clusters: 'env=prod' }, 'absent');
  await put('ended', { clusters: 'env=none', expiresAt: '2026-11-16T17:00:00Z' });
  await reader.catchUp();
  const statusOf = (name: string) => {
    const { clusters, conditions = [] } = bindingStatus(reader.find(KIND, at('', '', name))?.object() ?? ({} as never));
    return [clusters, ...conditions.map(({ type }) => type)];
  };
  const names = ['all', 'dev', 'not-dev', 'named', 'replaced', 'roleless', 'ended'];
  act();
  await expect
    .poll(() => names.map(statusOf))
    .toEqual([[3], [2], [1], [1], [0, 'NoClusters'], [1, 'RoleMissing'], [0, 'Expired', 'NoClusters']]);
  const revisions = () => names.map((name) => reader.find(KIND, at('', '', name))?.revision);
  const written = revisions();
  expect(reader.find(KIND, at('', '', 'dev'))?.object().metadata.generation).toBe(1);
  // Each of its own writes is looked at once, and then only what has changed.
  await reader.catchUp();
  looked.length = 0;
  act();
  await expect.poll(() => looked).toHaveLength(names.length);
  await put('new', { clusters: 'env=prod' }, 'absent');
  await reader.catchUp();
  looked.length = 0;
  act();
  await expect.poll(() => looked).toEqual(['absent']);
  await expect.poll(() => statusOf('new')).toEqual([1, 'RoleMissing']);
  // Another cluster: only what it changes is written.
  await make(objects, catalog.clusters, at('', '', 'd'), { labels: { env: 'prod' } });
  await reader.catchUp();
  labelsChangedAt = reader.revision;
  turns = 0;
  act();
  await expect.poll(() => names.map(statusOf).slice(0, 3)).toEqual([[4], [2], [2]]);
  await expect.poll(() => statusOf('roleless')).toEqual([2, 'RoleMissing']);
  // One for each of eight bindings, and for each of the clusters that their selectors look at.
  expect(turns).toBe(8 + 9);
  const after = revisions();
  const changed = names.filter((_, index) => after[index] !== written[index]);
  expect(changed).toEqual(['all', 'not-dev', 'roleless']);
  await stop();
});
