/**
 * A server restarts, and all of its watches come back at once. Exits with 1 when a watch cannot resume, when a
 * rejection was not a 429 with Retry-After, when it took more than a minute, or when tokens were slow meanwhile. Then
 * 1,000 clients begin a handshake in the same moment, and tokens must not be slow either. The watches then connect to a
 * floor, which only accepts them.
 *
 *   npm run bench -- reconnect [watches] [workers]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { call, expectSuccess } from '../support/client.ts';
import { clusterFleet, READER } from '../support/cluster-fleet.ts';
import { cpuOf, lowerPriority, processors, processTree, stolenMs } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import type { Done } from '../support/driver-process.ts';
import type { HelloJob } from '../support/hello-client.ts';
import { argsForWatches, memoryOfAll } from '../support/many-watches.ts';
import { percentile } from '../support/numbers.ts';
import { CLUSTERS_PATH, clusterName } from '../support/objects.ts';
import {
  atEnd,
  endAll,
  type FleetServer,
  kill,
  startFleetServer,
  startFloor,
  startServerOn,
} from '../support/processes.ts';
import { TickTimes } from '../support/tick-times.ts';
import { oneAccountRequest } from '../support/tokens.ts';
import type { WatchJob, WatchOutcome } from '../support/watch-client.ts';
import { annotationPatch, MERGE_PATCH } from '../support/watching.ts';

const [WATCHES = 18_000, WORKERS = 1] = process.argv.slice(2).map(Number);
const CLUSTERS = 10_000;
/** Node processes with watches: one of them would need a gigabyte for 20,000 TLS connections. */
const CLIENTS = Math.max(2, Math.ceil(WATCHES / 10_000));
const TOKENS_PER_SECOND = 20;
const TOKEN_CONNECTIONS = 4;
/** The server needs less than a second for all of these. */
const HELLOS = 1_000;
const HELLO_TOKENS_PER_SECOND = 100;
const LIMIT_SECONDS = 60;
const LIMIT_TOKEN_MS = 250;

const startClient = (file: string): ChildProcess => {
  const child = fork(fileURLToPath(new URL(`../support/${file}`, import.meta.url)), { stdio: 'inherit' });
  // These clients run on other machines.
  lowerPriority(child.pid ?? 0);
  atEnd(() => kill(child));
  return child;
};

/** Opens all watches at once. */
async function openWatches(port: number, resourceVersion: string): Promise<WatchOutcome> {
  const outcomes = await Promise.all(
    Array.from({ length: CLIENTS }, async (_, index) => {
      const client = startClient('watch-client.ts');
      const watches = Math.ceil((WATCHES - index) / CLIENTS);
      const localAddress = `127.0.1.${index + 1}`;
      const job: WatchJob = { port, watches, localAddress, token: READER.token, resourceVersion };
      client.send(job);
      const exit = once(client, 'exit').then(([code]) => {
        throw new Error(`a client process with watches ended with ${code}`);
      });
      const [outcome] = (await Promise.race([once(client, 'message'), exit])) as [WatchOutcome];
      return outcome;
    }),
  );
  const sum = (of: (outcome: WatchOutcome) => number): number => outcomes.reduce((all, each) => all + of(each), 0);
  const codes: Record<string, number> = {};
  for (const [code, times] of outcomes.flatMap((each) => Object.entries(each.codes))) {
    codes[code] = (codes[code] ?? 0) + times;
  }
  return {
    seconds: Math.max(...outcomes.map(({ seconds }) => seconds)),
    codes,
    withoutRetryAfter: sum((each) => each.withoutRetryAfter),
    failed: sum((each) => each.failed),
    timedOut: sum((each) => each.timedOut),
  };
}

/** Requests tokens over connections that are open before. */
class TokenCaller {
  readonly #driver = new Driver();
  readonly #request: string;

  private constructor(request: string) {
    this.#request = request;
  }

  static async connect(server: FleetServer): Promise<TokenCaller> {
    const { request } = await oneAccountRequest(server);
    const caller = new TokenCaller(request);
    await caller.#driver.send({ do: 'connect', port: server.port, connections: TOKEN_CONNECTIONS });
    return caller;
  }

  /** Until `other` is done. Returns how long each request took, in milliseconds. */
  async requestDuring(other: Promise<unknown>, rate: number): Promise<readonly number[]> {
    const work = { requests: { same: this.#request }, connections: TOKEN_CONNECTIONS, total: rate, rate };
    const times: number[] = [];
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    void other.then(end, end);
    while (!isOver) times.push(...((await this.#driver.send({ do: 'work', ...work })) as Done).milliseconds);
    return times;
  }
}

interface DuringHellos {
  readonly p99: number;
  readonly longestTick: number;
}

/** Requests tokens while many clients begin a handshake in the same moment. */
async function tokensDuringHellos(server: FleetServer, ticks: TickTimes): Promise<DuringHellos> {
  const client = startClient('hello-client.ts');
  const job: HelloJob = { port: server.port, connections: HELLOS, localAddress: '127.0.3.1' };
  const ready = once(client, 'message');
  client.send(job);
  await ready;
  const caller = await TokenCaller.connect(server);
  ticks.takeLongest();
  const done = once(client, 'message');
  client.send('begin');
  const tokens = await caller.requestDuring(done, HELLO_TOKENS_PER_SECOND);
  await kill(client);
  return { p99: percentile(tokens, 0.99), longestTick: ticks.takeLongest() };
}

/** A version that a client of this server may resume at, with a change after it. */
async function versionOf(server: FleetServer): Promise<string> {
  const list = call(server, 'GET', '/auth/v1/clusters?limit=1', READER);
  const { metadata } = await expectSuccess<{ metadata: { resourceVersion: string } }>(list);
  const change = { body: annotationPatch('restart'), type: MERGE_PATCH };
  await expectSuccess(call(server, 'PATCH', `${CLUSTERS_PATH}/${clusterName(1)}`, change));
  return metadata.resourceVersion;
}

/** What all watches cost the floor: TLS, HTTP and the headers of the response. */
async function floorCost(version: string): Promise<{ cpuMs: number; kilobytes: number; outcome: WatchOutcome }> {
  const floor = await startFloor('watch');
  const before = { cpu: floor.cpu(), megabytes: memoryOfAll(floor.pid) };
  const outcome = await openWatches(floor.port, version);
  const cpuMs = (floor.cpu() - before.cpu) / 1e3 / WATCHES;
  return { cpuMs, kilobytes: ((memoryOfAll(floor.pid) - before.megabytes) * 1024) / WATCHES, outcome };
}

try {
  const fleet = clusterFleet({ clusters: CLUSTERS, bindings: 1_000 });
  const first = await startFleetServer(fleet);
  const version = await versionOf(first);
  await first.end();
  const ticks = await TickTimes.prepare();
  const options = { nodeArgs: ticks.nodeArgs, serveArgs: argsForWatches(WATCHES + HELLOS, WORKERS) };
  const server = await startServerOn(first.dataDir, fleet.callers, options);
  const processes = processTree(server.pid);
  const cpus = (): number[] => processes.map((pid) => cpuOf(pid) / 1e6);
  const caller = await TokenCaller.connect(server);
  const before = { cpus: cpus(), megabytes: memoryOfAll(server.pid), stolen: stolenMs(), at: performance.now() };
  ticks.takeLongest();
  const watches = openWatches(server.port, version);
  const tokens = await caller.requestDuring(watches, TOKENS_PER_SECOND);
  const { seconds, codes, withoutRetryAfter, failed, timedOut } = await watches;
  const longestTick = ticks.takeLongest();
  const used = cpus().map((cpu, index) => cpu - (before.cpus[index] ?? 0));
  const megabytes = memoryOfAll(server.pid) - before.megabytes;
  const stolen = (stolenMs() - before.stolen) / (performance.now() - before.at) / processors().length;
  const hellos = await tokensDuringHellos(server, ticks);
  await server.end();
  const sum = used.reduce((all, each) => all + each, 0);
  const floor = await floorCost(version);
  const p99 = percentile(tokens, 0.99);
  const list = used.map((each) => each.toFixed(1)).join(' + ');
  console.log(`resumed       ${WATCHES} watches in ${seconds.toFixed(1)} s, with ${list} s of CPU`);
  const { outcome: least } = floor;
  console.log(`the floor     ${least.seconds.toFixed(1)} s, ${least.failed} connections failed and were opened again`);
  console.log(
    `CPU           ${((sum * 1e3) / WATCHES).toFixed(2)} ms for each watch; the floor ${floor.cpuMs.toFixed(2)} ms`,
  );
  console.log(`status        ${JSON.stringify(codes)}, without Retry-After ${withoutRetryAfter}`);
  console.log(`connections   ${failed} failed and were opened again, ${timedOut} of them after ten seconds`);
  console.log(
    `tokens        p99 ${p99.toFixed(0)} ms, longest ${Math.max(...tokens).toFixed(0)} ms of ${tokens.length}`,
  );
  console.log(`ticks         longest ${longestTick.toFixed(0)} ms of CPU`);
  console.log(
    `${HELLOS} hellos   tokens p99 ${hellos.p99.toFixed(0)} ms; ticks longest ${hellos.longestTick.toFixed(0)} ms of CPU`,
  );
  // Above a few percent, durations and ticks say nothing about the server.
  console.log(`host          took ${(stolen * 100).toFixed(0)} % of the processors`);
  const kilobytes = ((megabytes * 1024) / WATCHES).toFixed(0);
  console.log(`memory        ${kilobytes} KB for each watch; the floor ${floor.kilobytes.toFixed(0)} KB`);
  const holds =
    withoutRetryAfter === 0 &&
    Object.keys(codes).every((code) => code === '200' || code === '429') &&
    seconds <= LIMIT_SECONDS &&
    p99 <= LIMIT_TOKEN_MS &&
    hellos.p99 <= LIMIT_TOKEN_MS;
  const goal = `all resume, only 429 with Retry-After, ${LIMIT_SECONDS} s, tokens p99 ${LIMIT_TOKEN_MS} ms`;
  console.log(`goal          ${goal}: ${holds ? 'holds' : 'MISSED'}`);
  process.exitCode = holds ? 0 : 1;
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await endAll();
  process.exit();
}
