/**
 * Idle watches: resident memory of each, by their number, and the CPU time of an event to all of them, beside a floor
 * with as many. Exits with 1 when a goal is missed. Each watch takes an open file of the server and one of a driver.
 *
 *   npm run bench -- watches [watches] [workers]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterFleet } from '../support/cluster-fleet.ts';
import { alternate, type Round, rowOf } from '../support/compare.ts';
import { cpuOf, lowerPriority, processTree } from '../support/cpu.ts';
import { Driver } from '../support/driver.ts';
import type { Requests } from '../support/driver-process.ts';
import { argsForWatches, memoryOfAll } from '../support/many-watches.ts';
import { endAll, type ServerProcess, startFleetServer, startFloor } from '../support/processes.ts';
import { allHold, type Figure, print } from '../support/report.ts';
import { numberedPatch, sampleFrame, watchRequest } from '../support/watching.ts';

const [WATCHES = 18_000, WORKERS = 1] = process.argv.slice(2).map(Number);
/** The floor is one process, and has as many watches as each worker: a process has a limit of open files. */
const FLOOR_WATCHES = Math.round(WATCHES / WORKERS);
/** Memory is measured when these parts of them are open. */
const STEPS = [1 / 4, 1 / 2, 1];
const PER_DRIVER = 9_000;
const ROUNDS = 5;
/** Changes in a round, one after the other. */
const CHANGES = 2;
/** Of an idle watch, beyond that of the floor's. */
const LIMIT_KILOBYTES = 40;
/** At most half of the floor's CPU time. */
const GOAL = { cpuShare: 2 };
const SETTLE_MS = 5_000;

const progress = (line: string): void => console.error(`  ${line}`);

/** A server with its watches, in as many drivers as they need. */
class Watched {
  readonly #server: ServerProcess;
  readonly #request: string;
  readonly #watches: number;
  readonly #drivers: readonly Driver[];
  readonly #writer = new Driver();
  readonly #processes: readonly number[];
  readonly #megabytes: number;
  #frames = 0;

  constructor(server: ServerProcess, request: string, watches: number) {
    this.#server = server;
    this.#request = request;
    this.#watches = watches;
    this.#drivers = Array.from({ length: Math.ceil(watches / PER_DRIVER) }, () => new Driver());
    this.#processes = processTree(server.pid);
    this.#megabytes = memoryOfAll(server.pid);
    // Watching clients run on other machines.
    for (const { pid } of this.#drivers) lowerPriority(pid);
  }

  /** Opens watches until there is this part of them; resolves with the resident memory of each, in kilobytes. */
  async open(part: number): Promise<number> {
    const count = Math.round(this.#watches * part);
    await this.#each((driver, index) => {
      const connections = Math.ceil((count - index) / this.#drivers.length);
      const to = { port: this.#server.port, localAddress: `127.0.1.${index + 1}`, request: this.#request };
      return driver.send({ do: 'watch', connections, ...to });
    });
    await sleep(SETTLE_MS);
    return ((memoryOfAll(this.#server.pid) - this.#megabytes) * 1024) / count;
  }

  /** Makes changes, each after all watchers have received the one before. */
  async change(requests: Requests): Promise<Round> {
    const { port } = this.#server;
    await this.#writer.send({ do: 'connect', port, connections: 1 });
    const begun = performance.now();
    const before = this.#cpu();
    for (let change = 0; change < CHANGES; change++) {
      this.#frames += 1;
      const from = 'numbered' in requests ? { ...requests, from: change } : requests;
      await this.#writer.send({ do: 'work', requests: from, connections: 1, total: 1 });
      await this.#each(async (driver, index) => {
        const connections = Math.ceil((this.#watches - index) / this.#drivers.length);
        const total = this.#frames * connections;
        const { cutOff } = (await driver.send({ do: 'frames', total })) as { cutOff: number };
        if (cutOff > 0) throw new Error(`${cutOff} watches were cut off`);
      });
    }
    const events = CHANGES * this.#watches;
    const cpuPerUnit = (this.#cpu() - before) / events;
    const rate = events / ((performance.now() - begun) / 1000);
    await this.#writer.send({ do: 'close' });
    return { rate, cpuPerUnit };
  }

  #cpu(): number {
    return this.#processes.reduce((sum, pid) => sum + cpuOf(pid), 0);
  }

  async #each(act: (driver: Driver, index: number) => Promise<unknown>): Promise<void> {
    await Promise.all(this.#drivers.map(act));
  }
}

try {
  const serveArgs = argsForWatches(WATCHES, WORKERS);
  const server = await startFleetServer(clusterFleet({ clusters: 1_000, bindings: 100 }), { serveArgs });
  const frame = await sampleFrame(server);
  const floor = await startFloor('watch');
  const ours = new Watched(server, await watchRequest(server), WATCHES);
  const least = new Watched(floor, 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', FLOOR_WATCHES);
  const figures: Figure[] = [];
  for (const part of STEPS) {
    const [mine, itsOwn] = [await ours.open(part), await least.open(part)];
    const count = Math.round(WATCHES * part);
    progress(`${count} watches: ${mine.toFixed(1)} KB each, the floor ${itsOwn.toFixed(1)} KB`);
    const name = `memory of a watch beyond the floor's ${itsOwn.toFixed(0)} KB, ${count.toLocaleString('en')} open`;
    figures.push({ name, value: mine - itsOwn, unit: 'KB', limit: LIMIT_KILOBYTES });
  }
  const post = `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${frame.length}\r\n\r\n${frame.toString()}`;
  const rounds = await alternate(
    { rounds: ROUNDS, seconds: 0, progress },
    () => ours.change({ numbered: numberedPatch(server) }),
    () => least.change({ same: post }),
  );
  const atFloor = FLOOR_WATCHES.toLocaleString('en');
  const about = `One change, sent to all watches. The floor writes the same frame to ${atFloor}, with one write each.`;
  const name = `an event to ${WATCHES.toLocaleString('en')} watches`;
  const rows = [rowOf({ name, unit: 'events', about, goal: GOAL }, rounds)];
  const report = { rows, figures };
  print(report);
  process.exitCode = allHold(report) ? 0 : 1;
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await endAll();
  process.exit();
}
