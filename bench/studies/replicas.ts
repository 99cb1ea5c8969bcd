/**
 * What do three replicas on etcd cost, beside one? A token, beside one that a server on SQLite issues; and a create by
 * 16 writers: CPU time of all replicas together, beside that of a single replica on etcd. etcd's own CPU time is not
 * counted. Exits with 1 when a goal is missed.
 *
 *   npm run bench -- replicas [rounds] [requests a round]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterFleet } from '../support/cluster-fleet.ts';
import { Driver } from '../support/driver.ts';
import type { Work } from '../support/driver-process.ts';
import { startEtcdReplicas } from '../support/etcd-fleet.ts';
import { numberedCreate } from '../support/numbered-create.ts';
import { median, threeDigits } from '../support/numbers.ts';
import { endAll, type FleetServer, startFleetServer } from '../support/processes.ts';
import { allHold, type Figure, print } from '../support/report.ts';
import { oneAccountRequest } from '../support/tokens.ts';

const [ROUNDS = 5, TOTAL = 4_000] = process.argv.slice(2).map(Number);
const REPLICAS = 3;
const CONNECTIONS = 16;
/** Rounds before the measurement: V8 compiles for thousands of requests, in threads whose CPU time counts. */
const WARM_UP = 5;
/** On etcd a token costs as much as on SQLite. Two servers with the same code differ by so much. */
const LIMIT_TOKEN = 1.1;
const LIMIT_WRITE = 2;
const IDLE_SECONDS = 5;

const progress = (line: string): void => console.error(`  ${line}`);

/** Servers that are measured together. Every side has the same work; requests go to its first server. */
interface Side {
  readonly name: string;
  readonly servers: readonly FleetServer[];
  work(): Promise<Work>;
}

/** CPU time of a request in microseconds: by side, by server of the side, by round. */
async function measure(driver: Driver, sides: readonly Side[]): Promise<number[][][]> {
  const rounds = sides.map(({ servers }) => servers.map((): number[] => []));
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [index, { name, servers, work }] of sides.entries()) {
      const [first] = servers as [FleetServer];
      const todo = await work();
      const before = servers.map(({ cpu }) => cpu());
      const { seconds } = await driver.run(first, todo);
      const cost = servers.map(({ cpu }, at) => (cpu() - (before[at] ?? 0)) / todo.total);
      if (round >= 0) for (const [at, one] of cost.entries()) rounds[index]?.[at]?.push(one);
      const rate = threeDigits(todo.total / seconds);
      progress(`round ${round + 1}, ${name}: ${rate}/s, ${cost.map(threeDigits).join(' + ')} us of CPU each`);
    }
  }
  return rounds;
}

/** CPU time of all servers of a side, by round. */
const together = (servers: readonly (readonly number[])[] = []): number[] =>
  (servers[0] ?? []).map((_, round) => servers.reduce((sum, rounds) => sum + (rounds[round] ?? 0), 0));

/** The cost of one side divided by that of the other: the median over the rounds. */
const times = (costs: readonly number[], others: readonly number[]): number =>
  median(costs.map((cost, round) => cost / (others[round] ?? Number.NaN)));

/** CPU time in milliseconds that a server takes in a second without requests. */
async function idle({ cpu }: FleetServer): Promise<number> {
  const before = cpu();
  await sleep(IDLE_SECONDS * 1000);
  return (cpu() - before) / 1000 / IDLE_SECONDS;
}

const tokens = async (name: string, servers: readonly [FleetServer, ...FleetServer[]]): Promise<Side> => {
  const { request } = await oneAccountRequest(servers[0]);
  const work = { requests: { same: request }, connections: CONNECTIONS, total: TOTAL };
  return { name: `token, ${name}`, servers, work: async () => work };
};

function creates(name: string, servers: readonly [FleetServer, ...FleetServer[]]): Side {
  const numbered = numberedCreate(servers[0].adminToken);
  let from = -TOTAL;
  return {
    name: `create, ${name}`,
    servers,
    work: async () => {
      from += TOTAL;
      return { requests: { numbered, from }, connections: CONNECTIONS, total: TOTAL };
    },
  };
}

async function figures(): Promise<Figure[]> {
  const fleet = clusterFleet({ clusters: 1_000, bindings: 1_000 });
  const startReplicas = await startEtcdReplicas();
  const sqlite = await startFleetServer(fleet);
  const one = (await startReplicas(fleet, 1)) as [FleetServer];
  const three = (await startReplicas(fleet, REPLICAS)) as [FleetServer, ...FleetServer[]];
  const idleFigures: Figure[] = [
    { name: 'a second without requests, SQLite', value: await idle(sqlite), unit: 'ms' },
    { name: 'a second without requests, one of three replicas', value: await idle(three[0]), unit: 'ms' },
  ];
  const driver = new Driver();
  const tokenRounds = await measure(driver, [
    await tokens('SQLite', [sqlite]),
    // Only the replica that issues them: the others do the same work without tokens.
    await tokens('etcd, three replicas', [three[0]]),
  ]);
  const createRounds = await measure(driver, [creates('one replica', one), creates('three replicas', three)]);
  const [onSqlite = [], onEtcd = []] = tokenRounds.map(together);
  const [single = [], all = []] = createRounds.map(together);
  const following = together(createRounds[1]?.slice(1)).map((cost) => cost / (REPLICAS - 1));
  return [
    ...idleFigures,
    { name: 'token on SQLite', value: median(onSqlite), unit: 'us' },
    { name: 'token on etcd, one of three replicas', value: median(onEtcd), unit: 'us' },
    { name: 'token, etcd beside SQLite', value: times(onEtcd, onSqlite), unit: 'times', limit: LIMIT_TOKEN },
    { name: 'create, one replica', value: median(single), unit: 'us' },
    { name: 'create, all three replicas', value: median(all), unit: 'us' },
    { name: 'create, a replica that only follows', value: median(following), unit: 'us' },
    { name: 'create, three replicas beside one', value: times(all, single), unit: 'times', limit: LIMIT_WRITE },
  ];
}

try {
  const report = { figures: await figures() };
  print(report);
  process.exitCode = allHold(report) ? 0 : 1;
} finally {
  await endAll();
}
