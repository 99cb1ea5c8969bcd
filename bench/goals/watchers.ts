import { FLEET_BINDINGS, fleetBinding } from '../../test/e2e/support/bindings.ts';
import { call, expectSuccess } from '../support/client.ts';
import { clusterFleet, HOME, LIMITED_READER } from '../support/cluster-fleet.ts';
import type { Driver } from '../support/driver.ts';
import { type Figure, median, type Settings } from '../support/measure.ts';
import { clusterIs } from '../support/objects.ts';
import { type FleetServer, startFleetServer } from '../support/processes.ts';
import { numberedPatch, type WatchDrivers, watchDrivers, watchRequest } from '../support/watching.ts';

const WATCHERS = [10, 500, 5_000];
const CLUSTERS = [1_000, 10_000];
/** Watchers during a change of permission. */
const PERMISSION_WATCHERS = 100;
const EVENT_ROUNDS = 4;
const CHANGES = 5;
const LIMIT = 1.5;

/** CPU time for each event to one watcher. */
async function eventCost(server: FleetServer, { watchers, writer }: WatchDrivers, count: number): Promise<number> {
  const { port } = server;
  await watchers.send({ do: 'watch', port, connections: count, request: await watchRequest(server) });
  await writer.send({ do: 'connect', port, connections: 1 });
  const costs = [];
  for (let round = 1; round <= EVENT_ROUNDS; round++) {
    const before = server.cpu();
    for (let change = 1; change <= CHANGES; change++) {
      const requests = { numbered: numberedPatch(server) };
      await writer.work({ requests, connections: 1, total: 1 });
      // The next change waits for all watchers. Otherwise several events would share their writes.
      await watchers.send({ do: 'frames', total: ((round - 1) * CHANGES + change) * count });
    }
    costs.push((server.cpu() - before) / (CHANGES * count));
  }
  await writer.send({ do: 'close' });
  await watchers.send({ do: 'close' });
  return median(costs.slice(1));
}

/** CPU time of a binding that adds one cluster to what the user of all watches sees, and of its removal. */
async function permissionCost(server: FleetServer, watchers: Driver, rounds: number): Promise<number> {
  const request = await watchRequest(server, LIMITED_READER.token);
  await watchers.send({ do: 'watch', port: server.port, connections: PERMISSION_WATCHERS, request });
  const costs = [];
  let events = 0;
  const waitForEvent = (): Promise<unknown> => watchers.send({ do: 'frames', total: ++events * PERMISSION_WATCHERS });
  for (let round = 0; round <= rounds; round++) {
    const name = `more-${round}`;
    // The watchers see their clusters by a label that this one does not carry.
    const body = fleetBinding({ name, to: [LIMITED_READER.name], role: 'viewer', clusters: clusterIs(HOME) });
    const before = server.cpu();
    await expectSuccess(call(server, 'POST', FLEET_BINDINGS, { body }));
    await waitForEvent();
    await expectSuccess(call(server, 'DELETE', `${FLEET_BINDINGS}/${name}`));
    await waitForEvent();
    costs.push((server.cpu() - before) / 2);
  }
  await watchers.send({ do: 'close' });
  return median(costs.slice(1));
}

/** The last cost of a curve is at most half more than the first. */
const curve = (name: string, axis: string, points: ReadonlyMap<number, number>): Figure => {
  const costs = [...points.values()];
  const value = (costs.at(-1) ?? Number.NaN) / (costs[0] ?? Number.NaN);
  const note = [...points].map(([x, cost]) => `${x.toLocaleString('en')} ${axis}: ${cost.toFixed(1)} us`).join(', ');
  return { name: `growth of ${name}, by ${axis}`, value, unit: 'times', limit: LIMIT, note };
};

/** How the cost of an event grows with the watchers, and that of a permission with the fleet. */
export async function run({ rounds }: Settings): Promise<Figure[]> {
  const drivers = watchDrivers();
  const [events, permissions] = [new Map<number, number>(), new Map<number, number>()];
  for (const clusters of CLUSTERS) {
    const server = await startFleetServer(clusterFleet({ clusters, bindings: 100 }));
    for (const count of clusters === CLUSTERS[0] ? WATCHERS : []) {
      events.set(count, await eventCost(server, drivers, count));
    }
    permissions.set(clusters, await permissionCost(server, drivers.watchers, rounds));
    await server.end();
  }
  return [
    curve('one event to one watcher', 'watchers', events),
    curve(`permission of a user with ${PERMISSION_WATCHERS} watches`, 'clusters', permissions),
  ];
}
