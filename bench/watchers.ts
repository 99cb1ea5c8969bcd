import { mkdir, writeFile } from 'node:fs/promises';
import { call, must } from './support/client.ts';
import type { Settings } from './support/compare.ts';
import { binding, clusterName, NARROW } from './support/fleet.ts';
import { median } from './support/numbers.ts';
import { PLOTS, plot } from './support/plot.ts';
import { type Desk, Driver, startDesk } from './support/processes.ts';
import type { Curve, Report } from './support/report.ts';
import { patches, type WatchParts, watchRequest } from './watch.ts';

const WATCHERS = [10, 500, 5_000];
const CLUSTERS = [1_000, 10_000];
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const MEANWHILE = 100;
const ROUNDS = 4;
const CHANGES = 5;

/** One change after the other, told to so many: CPU for each that is told. */
async function costOfEvent(desk: Desk, { watchers, writer }: WatchParts, count: number): Promise<number> {
  await watchers.order({ do: 'watch', port: desk.port, connections: count, request: await watchRequest(desk) });
  await writer.order({ do: 'connect', port: desk.port, connections: 1 });
  const costs = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const before = desk.cpu();
    for (let change = 1; change <= CHANGES; change++) {
      await writer.order({ do: 'work', request: patches(desk), connections: 1, total: 1 });
      // Each is told before the next is made: otherwise many of them would share their writes.
      await watchers.order({ do: 'frames', total: ((round - 1) * CHANGES + change) * count });
    }
    costs.push((desk.cpu() - before) / (CHANGES * count));
  }
  await writer.order({ do: 'close' });
  await watchers.order({ do: 'close' });
  return median(costs.slice(1));
}

/**
 * CPU of letting callers who watch see one cluster more, and one less: both are told to each of them. By the side of it
 * stands the same for somebody who does not watch.
 */
async function costOfPermission(desk: Desk, watchers: Driver, user: string, rounds: number): Promise<number> {
  await watchers.order({
    do: 'watch',
    port: desk.port,
    connections: MEANWHILE,
    request: await watchRequest(desk, NARROW),
  });
  const costs = [];
  for (let round = 0; round <= rounds; round++) {
    const name = `more-${round}`;
    // Not among those that this caller sees by label.
    const more = binding(name, 'viewer', user, `kubernetes.io/metadata.name=${clusterName(1)}`);
    const before = desk.cpu();
    await must(call(desk, 'POST', BINDINGS, { body: more }));
    if (user === NARROW.name) await watchers.order({ do: 'frames', total: (2 * round + 1) * MEANWHILE });
    await must(call(desk, 'DELETE', `${BINDINGS}/${name}`));
    if (user === NARROW.name) await watchers.order({ do: 'frames', total: (2 * round + 2) * MEANWHILE });
    costs.push((desk.cpu() - before) / 2);
  }
  await watchers.order({ do: 'close' });
  return median(costs.slice(1));
}

/** How the cost of an event grows with the watchers, and that of a change of permission with the fleet. Writes the plots. */
export async function benchWatchers({ rounds }: Settings): Promise<Report> {
  const parts = { watchers: new Driver(), writer: new Driver() };
  const told: Curve['points'][number][] = [];
  const seen: Curve['points'][number][] = [];
  const unseen: Curve['points'][number][] = [];
  for (const clusters of CLUSTERS) {
    const desk = await startDesk({ clusters, bindings: 100 });
    for (const count of clusters === CLUSTERS[0] ? WATCHERS : []) {
      told.push({ x: count, y: await costOfEvent(desk, parts, count) });
    }
    seen.push({ x: clusters, y: await costOfPermission(desk, parts.watchers, NARROW.name, rounds) });
    unseen.push({ x: clusters, y: await costOfPermission(desk, parts.watchers, 'somebody-else', rounds) });
    await desk.end();
  }
  const events: Curve[] = [{ name: 'an event to one of them', axis: 'watchers', unit: 'us', points: told, limit: 1.5 }];
  const permissions: Curve[] = [
    { name: `of ${MEANWHILE} watchers`, axis: 'clusters', unit: 'us', points: seen, limit: 1.5 },
    { name: 'of somebody else', axis: 'clusters', unit: 'us', points: unseen, limit: 1.5 },
  ];
  await mkdir(PLOTS, { recursive: true });
  await writeFile(`${PLOTS}watchers.svg`, plot('CPU of an event, by watchers', events));
  await writeFile(`${PLOTS}permissions.svg`, plot('CPU of a change of permission, by clusters', permissions));
  return { curves: [...events, ...permissions] };
}
