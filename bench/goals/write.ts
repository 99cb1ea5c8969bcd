import { call, expectEqual, expectSuccess, requestText } from '../support/client.ts';
import { clusterFleet } from '../support/cluster-fleet.ts';
import { Driver } from '../support/driver.ts';
import { alternate, compared, type Figure, type Round, type Settings } from '../support/measure.ts';
import { CLUSTERS_PATH, clusterBody } from '../support/objects.ts';
import { type ServerProcess, startFleetServer, startFloor } from '../support/processes.ts';

const WRITERS = 16;
/** At the start. */
const CLUSTERS = 100;
/**
 * Each server handles twice as many before it is measured: the threads in which V8 compiles took 79 µs of each of the
 * first 30,000 creates, and 27 µs of the next 12,000.
 */
const WARM_UP = 30_000;

/** A function that creates so many clusters, with names that no other create has. */
function creator(server: ServerProcess, token: string): (total: number) => Promise<Round> {
  const driver = new Driver();
  const body = { ...clusterBody('one-of-many', {}), metadata: { name: 'new-########' } };
  const [before = '', after = ''] = requestText('POST', CLUSTERS_PATH, { token, body }).split('########');
  let from = 0;
  return (total) => {
    const requests = { numbered: [before, after] as const, from };
    from += total;
    return driver.run(server, { requests, connections: WRITERS, total });
  };
}

/**
 * Durable creates of clusters by 16 writers. The floor parses the same body, stores it in SQLite as durably, all bodies
 * of a tick in one transaction, and responds with it.
 */
export async function run(settings: Settings): Promise<Figure[]> {
  const server = await startFleetServer(clusterFleet({ clusters: CLUSTERS, bindings: 100 }));
  const create = creator(server, server.adminToken);
  const post = creator(await startFloor('create'), server.adminToken);
  await post(2 * WARM_UP);
  await create(WARM_UP);
  const total = Math.max(WRITERS, Math.round((await create(WARM_UP)).rate * settings.seconds));
  const rounds = await alternate(
    settings,
    () => create(total),
    () => post(total),
  );
  const { metadata } = await expectSuccess<{ metadata: { remainingItemCount: number } }>(
    call(server, 'GET', `${CLUSTERS_PATH}?limit=1`),
  );
  const created = 2 * WARM_UP + settings.rounds * total;
  expectEqual('clusters that exist afterwards', metadata.remainingItemCount + 1, CLUSTERS + created);
  return [compared('creates', 0.5, rounds)];
}
