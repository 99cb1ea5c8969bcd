/**
 * A20: floods of strangers for as long as one likes, while somebody with a good token asks for tokens: all of them at once at one
 * server, or each at a server of its own. Says whether it is the same process, how much memory it had more of, whether anybody was
 * refused, and how long they waited. `floods` measures them one by one, and against what the machine takes; this is for what only
 * shows after a while.
 *
 *   npm run bench -- flood-soak [seconds] [attempts a second of each] [together|apart]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createFloods } from '../test/e2e/support/hostile-floods.ts';
import { startServer, tokenOf } from '../test/e2e/support/server.ts';
import type { FloodJob, FloodOutcome } from './flood-client.ts';
import { memoryOf, yieldToOthers } from './support/cpu.ts';
import { Answers, GoodClient } from './support/good-client.ts';
import { at } from './support/numbers.ts';

const [seconds = '600', rate = '20', how = 'together'] = process.argv.slice(2);
if (how !== 'together' && how !== 'apart') throw new Error(`together or apart, not ${how}`);
const GROWTH_GOAL = 1.2;
const ASK_MS = 10;
const QUIET_SECONDS = 20;
/** In which the heap finds its size: that takes some 20,000 tokens, whether there are floods or not. */
const WARM = { seconds: 30, askMs: 1 };
const SETTLE_MS = 5_000;
const LOOK_MS = 1_000;
const p99 = ({ times }: Answers): string => at(times, 0.99).toFixed(1);

/** Somebody who floods, in a process of its own. */
class Flooder {
  readonly #child: ChildProcess;
  readonly #place: number;

  private constructor(child: ChildProcess, place: number) {
    this.#child = child;
    this.#place = place;
  }

  static async start(place: number): Promise<Flooder> {
    const child = fork(fileURLToPath(new URL('flood-client.ts', import.meta.url)));
    await once(child, 'message');
    yieldToOthers(child.pid ?? 0);
    return new Flooder(child, place);
  }

  async flood(port: number, forSeconds: number): Promise<number> {
    const told = once(this.#child, 'message') as Promise<[FloodOutcome]>;
    const job: FloodJob = { port, token: tokenOf('bad'), flood: this.#place, seconds: forSeconds, rate: Number(rate) };
    this.#child.send(job);
    return (await told)[0].attempts;
  }

  end(): void {
    this.#child.disconnect();
  }
}

type Named = { readonly name: string; readonly place: number };

/** A server, those who flood it, and somebody with a good token. */
async function stage(floods: readonly Named[]) {
  const groups = ['system:masters'];
  const server = await startServer({
    users: { good: groups, bad: groups },
    args: ['--demo', '--log-level', 'error'],
    tls: true,
    launcher: true,
  });
  const port = Number(new URL(server.url).port);
  const client = new GoodClient(port, 'good');
  const flooders = await Promise.all(floods.map(({ place }) => Flooder.start(place)));
  const name = floods.length === 1 ? floods[0]?.name : `${floods.length} floods together`;
  const floodAll = async (forSeconds: number): Promise<number> =>
    (await Promise.all(flooders.map((flooder) => flooder.flood(port, forSeconds)))).reduce((sum, one) => sum + one, 0);
  const [quiet, under] = [new Answers(), new Answers()];
  const memory = { before: 0, most: 0, after: 0 };
  return {
    warm: () => client.askDuring(floodAll(WARM.seconds), WARM.askMs, new Answers()),
    async rest() {
      await client.askFor(QUIET_SECONDS, ASK_MS, quiet);
      memory.before = memoryOf(server.pid).now;
    },
    async suffer(): Promise<boolean> {
      const looking = setInterval(() => {
        memory.most = Math.max(memory.most, memoryOf(server.pid).now);
      }, LOOK_MS);
      const attempts = await client.askDuring(floodAll(Number(seconds)), ASK_MS, under);
      await delay(SETTLE_MS);
      clearInterval(looking);
      memory.after = memoryOf(server.pid).now;
      const { before, most, after } = memory;
      const holds = under.failed === 0 && most <= before * GROWTH_GOAL;
      const cells = [
        name,
        attempts,
        [before, most, after].map((size) => size.toFixed(0)).join(', '),
        `${((most / before - 1) * 100).toFixed(0)} %`,
        `${under.failed} of ${under.times.length}`,
        // Servers and clients of all stages share the processors: what one waits for is the others.
        how === 'apart' ? '' : `${p99(quiet)}, ${p99(under)}`,
        holds ? 'holds' : 'does not hold',
      ];
      console.log(`| ${cells.join(' | ')} |`);
      return holds;
    },
    async end() {
      for (const flooder of flooders) flooder.end();
      client.close();
      await server.destroy();
    },
  };
}

// Those of somebody with a good token are within that caller's share, and not what this is about.
const strangers = createFloods('')
  .map(({ name }, place): Named => ({ name, place }))
  .filter(({ name }) => name.startsWith('A20') || name.startsWith('A21'));
const stages = await Promise.all((how === 'apart' ? strangers.map((flood) => [flood]) : [strangers]).map(stage));
console.log(`A20, ${seconds} s of ${strangers.length} floods, ${how}, ${rate} attempts a second of each`);
console.log(
  '| flood | attempts | MB before, at most, after | growth | others that failed | their p99 without it and under it, ms | |',
);
console.log('|---|---|---|---|---|---|---|');
for (const one of stages) await one.warm();
await delay(SETTLE_MS);
for (const one of stages) await one.rest();
const holds = await Promise.all(stages.map((one) => one.suffer()));
await Promise.all(stages.map((one) => one.end()));
const allHold = holds.every((one) => one);
console.log(allHold ? 'the same processes; holds' : `does not hold (memory at most ${GROWTH_GOAL} times, no failure)`);
process.exit(allHold ? 0 : 1);
