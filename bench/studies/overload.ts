import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, tokenOf } from '../../test/e2e/support/server.ts';
import { requestText } from '../support/client.ts';
import { clusterFleet, LIMITED_READER, LIST, READER } from '../support/cluster-fleet.ts';
import { cpuOf, lowerPriority, memoryOf } from '../support/cpu.ts';
import { type Done, Driver, requestFile, type Work } from '../support/driver.ts';
import { type Figure, median, percentile, type Settings } from '../support/measure.ts';
import { CLUSTERS_PATH, tokenPath } from '../support/objects.ts';
import { startFleetServer } from '../support/processes.ts';
import { tickTimes } from '../support/ticks.ts';

const STEADY = ['ann', 'ben', 'cem', 'dan'];
const STEADY_RATE = 100;
const GREEDY_CONNECTIONS = 2_000;
/** Enough to keep the server busy without a queue. */
const PEAK_CONNECTIONS = 32;
/** A later response is no success. */
const PATIENCE_MS = 2_000;
/** The steady callers go on for so long after the flood, to see the recovery. */
const AFTER_SECONDS = 10;

const TOKEN_BODY = { spec: { audiences: ['bench'] } };
const REQUESTS: Readonly<Record<string, (user: string) => string>> = {
  tokens: (user) =>
    requestText('POST', tokenPath('prod-eu-1', 'ci', 'builder'), { token: tokenOf(user), body: TOKEN_BODY }),
  lists: (user) => requestText('GET', CLUSTERS_PATH, { token: tokenOf(user) }),
};

const sum = (codes: Done['codes'], match: RegExp): number =>
  Object.entries(codes).reduce((total, [code, count]) => total + (match.test(code) ? count : 0), 0);

/**
 * B15: what happens to other callers when one caller sends far more than the server can do? Four callers send requests
 * at a steady rate. Then a fifth keeps 2,000 connections busy, ignores `Retry-After`, and stops again. Clients and
 * server share the machine, so the peak is measured before and after, under the same conditions.
 *
 * Each part takes ten times `--seconds`. `--rows tokens` or `--rows lists`: only these requests; `--rows fleet`: only
 * the answers that `flooded` asks for.
 */
export async function run(settings: Settings): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [kind, requestOf] of Object.entries(REQUESTS)) {
    if (kind.includes(settings.rows)) figures.push(...(await overload(kind, requestOf, settings.seconds * 10)));
  }
  for (const clusters of FLEETS) {
    for (const [form, request] of Object.entries(FORMS)) {
      const kind = `fleet of ${clusters}, ${form}`;
      if (kind.includes(settings.rows)) figures.push(...(await flooded(kind, request, clusters, settings)));
    }
  }
  return figures;
}

const FLEETS = [3_000, 10_000];
const FORMS: Readonly<Record<string, string>> = {
  YAML: requestText('GET', LIST, { ...READER, headers: { Accept: 'application/yaml' } }),
  indented: requestText('GET', `${LIST}?pretty=1`, READER),
  compressed: requestText('GET', LIST, { ...READER, headers: { 'Accept-Encoding': 'gzip' } }),
  table: requestText('GET', CLUSTERS_PATH, {
    ...READER,
    headers: { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  }),
  profiles: requestText('GET', '/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles', READER),
};
const FORM_CONNECTIONS = 100;

/**
 * FA-1: one caller asks for a whole fleet with 100 connections, in a form that has to be made. Another one reads a page
 * 50 times a second, and health is asked for 20 times.
 */
async function flooded(kind: string, request: string, clusters: number, settings: Settings): Promise<Figure[]> {
  const seconds = settings.seconds * 5;
  const ticks = await tickTimes();
  const server = await startFleetServer(clusterFleet({ clusters, bindings: 100 }), { nodeArgs: ticks.nodeArgs });
  const { port } = server;
  const during = async (text: string, work: Omit<Work, 'requests' | 'seconds'>): Promise<Done> => {
    const driver = new Driver();
    if (work.rate === undefined) lowerPriority(driver.pid);
    await driver.send({ do: 'connect', port, connections: work.connections });
    const done = await driver.work({ ...work, requests: { same: text }, seconds });
    await driver.end();
    return done;
  };
  const before = memoryOf(server.pid).now;
  ticks.takeLongest();
  const [got, page, health] = await Promise.all([
    during(request, { connections: FORM_CONNECTIONS }),
    during(requestText('GET', `${LIST}?limit=100`, LIMITED_READER), { connections: 16, rate: 50 }),
    during(requestText('GET', '/livez', READER), { connections: 4, rate: 20 }),
  ]);
  const grown = memoryOf(server.pid).peak - before;
  const longest = ticks.takeLongest();
  await server.end();
  const served = page.milliseconds.filter((took) => took <= PATIENCE_MS).length;
  const note = `${JSON.stringify(got.codes)} for the greedy caller, ${JSON.stringify(page.codes)} for the other`;
  settings.progress(`${kind}: ${note}`);
  return [
    { name: `${kind}: p99 of /livez`, value: percentile(health.milliseconds, 0.99), unit: 'ms', limit: 250 },
    { name: `${kind}: pages of the other served in time`, value: (2 * served) / seconds, unit: '%', least: 90, note },
    { name: `${kind}: p99 of these`, value: percentile(page.milliseconds, 0.99), unit: 'ms', limit: 500 },
    { name: `${kind}: longest tick`, value: longest, unit: 'ms of CPU', limit: 50 },
    { name: `${kind}: memory`, value: grown, unit: 'MB more', limit: 300 },
  ];
}

async function overload(kind: string, requestOf: (user: string) => string, seconds: number): Promise<Figure[]> {
  const users = Object.fromEntries([...STEADY, 'greedy'].map((name) => [name, ['system:masters']]));
  const args = ['--demo', '--log-level', 'warn', '--max-tokens-per-minute-per-caller', '0'];
  const server = await startServer({ users, args });
  const port = Number(new URL(server.url).port);
  const connected = async (connections: number): Promise<Driver> => {
    const driver = new Driver();
    await driver.send({ do: 'connect', port, connections, plain: true });
    return driver;
  };
  const load = async (driver: Driver, texts: readonly string[], work: Omit<Work, 'requests'>): Promise<Done> => {
    const done = await driver.work({ ...work, requests: await requestFile(texts) });
    await driver.end();
    return done;
  };
  const steady = async (forSeconds: number): Promise<Done> => {
    const work = { connections: 32, rate: STEADY_RATE, seconds: forSeconds };
    return load(await connected(work.connections), STEADY.map(requestOf), work);
  };
  const greedy = async (connections: number, driver?: Driver): Promise<Done> =>
    load(driver ?? (await connected(connections)), [requestOf('greedy')], { connections, seconds });
  /** Requests that are served in a second of CPU time of the server, when it is busy without a queue. */
  const peak = async (): Promise<number> => {
    const before = cpuOf(server.pid);
    const outcomes = await Promise.all([greedy(PEAK_CONNECTIONS), steady(seconds)]);
    return outcomes.reduce((total, { codes }) => total + sum(codes, /^2/), 0) / ((cpuOf(server.pid) - before) / 1e6);
  };

  const quiet = await steady(seconds);
  const before = await peak();
  // Its connections are opened before, so that the CPU time is that of the flood.
  const flooding = await connected(GREEDY_CONNECTIONS);
  const steadyDuring = steady(seconds + AFTER_SECONDS);
  const cpuBefore = cpuOf(server.pid);
  const flood = greedy(GREEDY_CONNECTIONS, flooding);
  await sleep(seconds * 1000);
  const cpuSeconds = (cpuOf(server.pid) - cpuBefore) / 1e6;
  const [got, others] = await Promise.all([flood, steadyDuring]);
  const after = await peak();
  await server.destroy();

  const responses = others.milliseconds.map((took, index) => ({ took, due: (others.dueAt[index] ?? 0) / 1000 }));
  const during = responses.filter(({ due }) => due < seconds).map(({ took }) => took);
  const inTime = during.filter((took) => took <= PATIENCE_MS).length;
  const usual = 2 * percentile(quiet.milliseconds, 0.99);
  /** The last second after the flood in which most responses were slower than usual. */
  const slowSeconds = Array.from({ length: AFTER_SECONDS }, (_, second) => second).filter((second) => {
    const times = responses.filter(({ due }) => Math.floor(due - seconds) === second).map(({ took }) => took);
    return median(times) > usual;
  });
  const goodput = (sum(got.codes, /^2/) + inTime) / cpuSeconds;
  const codes = `${JSON.stringify(got.codes)} for the greedy caller, ${JSON.stringify(others.codes)} for the others`;
  const figure = (name: string, value: number, unit: string, note = ''): Figure => ({
    ...{ name: `${kind}: ${name}`, value, unit },
    ...(note === '' ? {} : { note }),
  });
  return [
    figure('requests of the others served in time', (100 * inTime) / (STEADY_RATE * seconds), '%', codes),
    figure('p99 of the others without a flood', percentile(quiet.milliseconds, 0.99), 'ms'),
    figure('p99 of the others during it', percentile(during, 0.99), 'ms'),
    figure('goodput by CPU, of the peak', (100 * goodput) / Math.max(before, after), '%'),
    figure('seconds until the others are served as usual', (slowSeconds.at(-1) ?? -1) + 1, 's'),
    { ...figure('responses of 5xx', sum(got.codes, /^5/) + sum(others.codes, /^5/), ''), limit: 0 },
  ];
}
