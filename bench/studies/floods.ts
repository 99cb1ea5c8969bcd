import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { createFloods } from '../../test/e2e/support/hostile-floods.ts';
import { call, expectSuccess, requestText } from '../support/client.ts';
import { clusterFleet, HOME, LIMITED_READER, LIST, READER } from '../support/cluster-fleet.ts';
import { lowerPriority, memoryOf } from '../support/cpu.ts';
import { type Done, Driver } from '../support/driver.ts';
import { type Figure, percentile, type Settings } from '../support/measure.ts';
import { CLUSTERS_PATH, tokenPath } from '../support/objects.ts';
import { type FleetServer, startFleetServer } from '../support/processes.ts';
import { tickTimes } from '../support/ticks.ts';
import { oneAccountRequest } from '../support/token-requests.ts';

/** A later response is no success. */
const PATIENCE_MS = 2_000;
const WARM_UP_SECONDS = 3;
const FLOODER = { name: 'flooder', token: 'token-of-flooder-0123456789', groups: ['system:masters'] };
const STRANGER = { name: 'stranger', token: 'token-of-stranger-0123456789' };
const TABLE = { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

interface Row {
  readonly name: string;
  readonly clusters?: number;
  readonly serveArgs?: readonly string[];
  /** Goes on for so long. Returns how many attempts it made, or how they ended. */
  readonly flood: (server: FleetServer, seconds: number) => Promise<unknown>;
}

/** 200 attempts a second with hostile bytes, from another address, within the limit of handshakes for one address. */
const hostile: readonly Row[] = createFloods(FLOODER.token).map(({ name }, index) => ({
  name,
  serveArgs: ['--tls-handshakes-per-address', '50'],
  flood: async ({ port }, seconds) => {
    const driver = new Driver();
    lowerPriority(driver.pid);
    const done = await driver.send({ do: 'flood', port, token: FLOODER.token, flood: index, rate: 200, seconds });
    await driver.end();
    return done;
  },
}));

/** Each connection sends the next request after the response, and ignores `Retry-After`. */
const busy = (name: string, connections: number, request: string, clusters = 3_000): Row => ({
  name: `${name}, ${connections} connections`,
  clusters,
  flood: async ({ port }, seconds) => {
    const driver = new Driver();
    lowerPriority(driver.pid);
    await driver.send({ do: 'connect', port, connections });
    const { codes } = await driver.work({ requests: { same: request }, connections, seconds });
    await driver.end();
    return codes;
  },
});

const passBody = { spec: { audiences: ['bench'] } };
const manyTerms = encodeURIComponent('env=dev,'.repeat(1_900).slice(0, -1));
const greedy: readonly Row[] = [
  busy('tokens', 2_000, requestText('POST', tokenPath('prod-eu-1', 'ci', 'builder'), { ...FLOODER, body: passBody })),
  busy('lists', 2_000, requestText('GET', CLUSTERS_PATH, FLOODER)),
  busy('a requirement 1,900 times', 30, requestText('GET', `${LIST}?limit=1&labelSelector=${manyTerms}`, READER)),
  ...[3_000, 10_000].flatMap((clusters) =>
    Object.entries({
      YAML: requestText('GET', LIST, { ...READER, headers: { Accept: 'application/yaml' } }),
      indented: requestText('GET', `${LIST}?pretty=1`, READER),
      compressed: requestText('GET', LIST, { ...READER, headers: { 'Accept-Encoding': 'gzip' } }),
      table: requestText('GET', CLUSTERS_PATH, { ...READER, headers: TABLE }),
      profiles: requestText('GET', '/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles', READER),
    }).map(([form, request]) => busy(`a fleet of ${clusters}, ${form}`, 100, request, clusters)),
  ),
];

interface Watches {
  readonly count: number;
  readonly reads?: true;
  readonly selector: (index: number) => string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly caller?: typeof STRANGER;
}

/** Many watches of one caller, while a cluster with 250 KiB of notes changes four times. */
const watches = (name: string, { count, reads, selector, headers = {}, caller = READER }: Watches): Row => ({
  name: `watches: ${name}`,
  flood: async (server, seconds) => {
    const until = performance.now() + seconds * 1000;
    const sockets = [];
    const { metadata } = await expectSuccess<{ metadata: { resourceVersion: string } }>(
      call(server, 'GET', `${LIST}?limit=1`),
    );
    for (let index = 0; index < count; index++) {
      const socket = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false });
      socket.on('error', () => {});
      const query = `labelSelector=${encodeURIComponent(selector(index))}&watch=1&resourceVersion=${metadata.resourceVersion}`;
      socket.write(requestText('GET', `${CLUSTERS_PATH}?${query}`, { ...caller, headers }));
      if (reads) socket.resume();
      sockets.push(socket);
      if (index % 50 === 49) await sleep(100);
    }
    for (const change of '0123') {
      const body = { metadata: { annotations: { note: change.repeat(250 * 1024) } } };
      const patch = { body, type: 'application/merge-patch+json' };
      await expectSuccess(call(server, 'PATCH', `${CLUSTERS_PATH}/${HOME}`, patch));
      await sleep(200);
    }
    await sleep(Math.max(0, until - performance.now()));
    for (const socket of sockets) socket.destroy();
    return count;
  },
});

const long = (index: number): string =>
  Array.from({ length: 64 }, (_, term) => `k${term}!=${String(index).padStart(63, 'v')}`).join();
const watching: readonly Row[] = [
  watches('long selectors, no permission', { count: 1_500, selector: long, caller: STRANGER }),
  watches('long selectors', { count: 1_500, selector: long }),
  watches('other selectors, not read', { count: 1_500, selector: (index) => `x!=${index}` }),
  watches('tables', { count: 1_000, reads: true, selector: () => '', headers: TABLE }),
];

/**
 * What others get while one client floods a server: 50 tokens and 50 pages a second, and health 20 times. Each flood
 * meets a server of its own and takes five times `--seconds`; `--rows WORD`: only those with the word in their name.
 * Flood, clients and server share one machine, so the flood has the lowest priority.
 */
export async function run({ seconds, rows, progress }: Settings): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const row of [...hostile, ...greedy, ...watching].filter(({ name }) => name.includes(rows))) {
    const measured = await measure(row, seconds * 5);
    progress(`${row.name}: ${measured.map(({ value, unit }) => `${value.toFixed(1)} ${unit}`).join(', ')}`);
    figures.push(...measured);
  }
  return figures;
}

async function measure({ name, clusters = 3_000, serveArgs = [], flood }: Row, seconds: number): Promise<Figure[]> {
  const ticks = await tickTimes();
  const fleet = clusterFleet({ clusters, bindings: 100 });
  const server = await startFleetServer(
    { ...fleet, callers: [...fleet.callers, FLOODER, STRANGER] },
    { nodeArgs: ticks.nodeArgs, serveArgs: ['--demo', ...serveArgs] },
  );
  const others = [
    { text: (await oneAccountRequest(server)).request, connections: 16, rate: 50 },
    { text: requestText('GET', `${LIST}?limit=100`, LIMITED_READER), connections: 16, rate: 50 },
    { text: requestText('GET', '/livez', READER), connections: 4, rate: 20 },
  ];
  const drivers = others.map(() => new Driver());
  const ask = (forSeconds: number): Promise<Done[]> =>
    Promise.all(
      others.map(async ({ text, ...work }, index) => {
        const driver = drivers[index] as Driver;
        await driver.send({ do: 'connect', port: server.port, connections: work.connections });
        return driver.work({ ...work, requests: { same: text }, seconds: forSeconds });
      }),
    );
  await ask(WARM_UP_SECONDS);
  const before = memoryOf(server.pid).now;
  ticks.takeLongest();
  const [ends, asked] = await Promise.all([flood(server, seconds), ask(seconds)]);
  const [health, ...rest] = asked.reverse();
  const times = rest.flatMap(({ milliseconds }) => milliseconds);
  const inTime = times.filter((took) => took <= PATIENCE_MS).length;
  const memory = memoryOf(server.pid).peak - before;
  const tick = ticks.takeLongest();
  for (const { end } of [...drivers, server]) await end();
  const note = `${JSON.stringify(ends)} for the flood, ${JSON.stringify(rest.map(({ codes }) => codes))} for others`;
  return [
    { name: `${name}: p99 of /livez`, value: percentile(health?.milliseconds ?? [], 0.99), unit: 'ms', limit: 250 },
    { name: `${name}: requests of others in time`, value: inTime / seconds, unit: '%', least: 90, note },
    { name: `${name}: p99 of these`, value: percentile(times, 0.99), unit: 'ms', limit: 500 },
    { name: `${name}: longest tick`, value: tick, unit: 'ms of CPU', limit: 50 },
    { name: `${name}: memory`, value: memory, unit: 'MB more', limit: 300 },
  ];
}
