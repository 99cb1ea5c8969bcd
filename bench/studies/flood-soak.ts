/**
 * A20: floods of callers without a token for a long time, while another client requests tokens: all floods at one
 * server, or each at a separate server. Prints whether the process survived, how its memory grew, whether a request of
 * the client failed, and how long the client waited. `floods` measures them one by one; this study finds effects that
 * appear late.
 *
 *   npm run bench -- flood-soak [seconds] [attempts a second of each] [together|apart]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createFloods } from '../../test/e2e/support/hostile-floods.ts';
import { startServer } from '../../test/e2e/support/server.ts';
import { memoryOf } from '../support/cpu.ts';
import { FLOODING_USER, Flooder, MEASURED_USER } from '../support/flooder.ts';
import { percentile } from '../support/numbers.ts';
import { Responses, SteadyClient } from '../support/steady-client.ts';

const [seconds = '600', rate = '20', mode = 'together'] = process.argv.slice(2);
if (mode !== 'together' && mode !== 'apart') throw new Error(`the third argument is together or apart, not ${mode}`);
const GROWTH_GOAL = 1.2;
const INTERVAL_MS = 10;
const QUIET_SECONDS = 20;
/** The heap finds its size after some 20,000 tokens, with or without floods. */
const WARM_UP = { seconds: 30, intervalMs: 1 };
const SETTLE_MS = 5_000;
const MEMORY_INTERVAL_MS = 1_000;
const p99 = ({ times }: Responses): string => percentile(times, 0.99).toFixed(1);

interface NamedFlood {
  readonly name: string;
  readonly index: number;
}

/** A server, its floods, and a client that requests tokens. */
async function startStage(floods: readonly NamedFlood[]) {
  const groups = ['system:masters'];
  const server = await startServer({
    users: { [MEASURED_USER]: groups, [FLOODING_USER]: groups },
    args: ['--demo', '--log-level', 'error'],
    tls: true,
    launcher: true,
  });
  const port = Number(new URL(server.url).port);
  const client = new SteadyClient(port, MEASURED_USER);
  const flooders = await Promise.all(floods.map(() => Flooder.start()));
  const name = floods.length === 1 ? floods[0]?.name : `${floods.length} floods together`;
  /** The number of attempts. */
  const floodAll = async (forSeconds: number): Promise<number> => {
    const jobs = floods.map(({ index }) => ({ flood: index, seconds: forSeconds, rate: Number(rate) }));
    const outcomes = await Promise.all(jobs.map((job, index) => flooders[index]?.flood(port, job)));
    return outcomes.reduce((sum, outcome) => sum + (outcome?.attempts ?? 0), 0);
  };
  const [quiet, under] = [new Responses(), new Responses()];
  const memory = { before: 0, highest: 0, after: 0 };
  return {
    warmUp: () => client.sendDuring(floodAll(WARM_UP.seconds), WARM_UP.intervalMs, new Responses()),
    async measureQuiet() {
      await client.sendFor(QUIET_SECONDS, INTERVAL_MS, quiet);
      memory.before = memoryOf(server.pid).now;
    },
    async measureFlood(): Promise<boolean> {
      const timer = setInterval(() => {
        memory.highest = Math.max(memory.highest, memoryOf(server.pid).now);
      }, MEMORY_INTERVAL_MS);
      const attempts = await client.sendDuring(floodAll(Number(seconds)), INTERVAL_MS, under);
      await sleep(SETTLE_MS);
      clearInterval(timer);
      memory.after = memoryOf(server.pid).now;
      const { before, highest, after } = memory;
      const holds = under.failed === 0 && highest <= before * GROWTH_GOAL;
      const cells = [
        name,
        attempts,
        [before, highest, after].map((size) => size.toFixed(0)).join(', '),
        `${((highest / before - 1) * 100).toFixed(0)} %`,
        `${under.failed} of ${under.times.length}`,
        // With several servers on one machine, a client waits for the other servers too.
        mode === 'apart' ? '' : `${p99(quiet)}, ${p99(under)}`,
        holds ? 'holds' : 'MISSED',
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

// Floods with a token are limited by the share of one caller, which `floods` measures.
const floods = createFloods('')
  .map(({ name }, index): NamedFlood => ({ name, index }))
  .filter(({ name }) => name.startsWith('A20') || name.startsWith('A21'));
const stages = await Promise.all((mode === 'apart' ? floods.map((flood) => [flood]) : [floods]).map(startStage));
console.log(`A20, ${seconds} s of ${floods.length} floods, ${mode}, ${rate} attempts a second of each`);
const HEAD = [
  'flood',
  'attempts',
  'MB before, highest, after',
  'growth',
  'failed requests',
  'p99 without and with floods, ms',
  'result',
];
console.log(`| ${HEAD.join(' | ')} |\n|${'---|'.repeat(HEAD.length)}`);
for (const stage of stages) await stage.warmUp();
await sleep(SETTLE_MS);
for (const stage of stages) await stage.measureQuiet();
const results = await Promise.all(stages.map((stage) => stage.measureFlood()));
await Promise.all(stages.map((stage) => stage.end()));
const allHold = results.every((holds) => holds);
const goal = `the same processes, memory at most ${GROWTH_GOAL} times, no failed request`;
console.log(`goal: ${goal}: ${allHold ? 'holds' : 'MISSED'}`);
process.exit(allHold ? 0 : 1);
