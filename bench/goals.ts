import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { benchCredential } from './goals/credential.ts';
import { benchGrowth } from './goals/growth.ts';
import { benchInterference } from './goals/interference.ts';
import { benchList } from './goals/list.ts';
import { benchMemory } from './goals/memory.ts';
import { benchPasses } from './goals/passes.ts';
import { benchSlo } from './goals/slo.ts';
import { benchStart } from './goals/start.ts';
import { benchSync } from './goals/sync.ts';
import { benchTicks } from './goals/ticks.ts';
import { benchToken } from './goals/token.ts';
import { benchWatch } from './goals/watch.ts';
import { benchWatchers } from './goals/watchers.ts';
import { benchWorkers } from './goals/workers.ts';
import { benchWrite } from './goals/write.ts';
import type { Settings } from './support/compare.ts';
import { endAll } from './support/processes.ts';
import { allHold, HEADER, print, type Report } from './support/report.ts';

type Benchmark = (settings: Settings) => Promise<Report>;

/** Each holds Clusterpass to a goal. Without a name, all of them run. */
const GOALS: Readonly<Record<string, Benchmark>> = {
  token: benchToken,
  list: benchList,
  watch: benchWatch,
  write: benchWrite,
  memory: benchMemory,
  start: benchStart,
  credential: benchCredential,
  sync: benchSync,
  growth: benchGrowth,
  watchers: benchWatchers,
  workers: benchWorkers,
  interference: benchInterference,
  ticks: benchTicks,
  passes: benchPasses,
  slo: benchSlo,
};

export const GOAL_NAMES: readonly string[] = Object.keys(GOALS);

interface Arguments {
  readonly names: readonly string[];
  readonly settings: Settings;
  readonly json: boolean;
}

/** Throws an error that says what would be right. */
function readArguments(studies: readonly string[]): Arguments {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      json: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.find((name) => !(name in GOALS));
  if (unknown !== undefined) {
    throw new Error(`unknown benchmark "${unknown}": expected ${[...GOAL_NAMES, ...studies].join(', ')}`);
  }
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be a whole number above 0');
  if (!(seconds > 0)) throw new Error('--seconds must be a number above 0');
  const names = positionals.length === 0 ? GOAL_NAMES : positionals;
  return { names, settings: { rounds, seconds }, json: values.json };
}

async function measure({ names, settings, json }: Arguments): Promise<boolean> {
  const machine = { processors: cpus().length, load: loadavg()[0] ?? 0, node: process.version };
  const progress = (line: string): void => console.error(`  ${line}`);
  const reports: Record<string, Report> = {};
  if (!json) {
    console.log(`Node ${machine.node}, ${machine.processors} processors, load average ${machine.load.toFixed(1)}`);
    console.log(`${settings.rounds} rounds of about ${settings.seconds} s for each side\n\n${HEADER}`);
  }
  for (const name of names) {
    const report = await (GOALS[name] as Benchmark)({ ...settings, progress });
    await endAll();
    reports[name] = report;
    if (!json) {
      console.log(`\n${name}`);
      print(report);
    }
  }
  if (json) console.log(JSON.stringify({ machine, settings, reports }, undefined, 2));
  return Object.values(reports).every(allHold);
}

/** Runs the benchmarks that the command line names. The names of the studies are for the error message. */
export async function runGoals(studies: readonly string[]): Promise<void> {
  let args: Arguments;
  try {
    args = readArguments(studies);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 2;
    return;
  }
  // The servers are children of this process and must end with it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void endAll().finally(() => process.exit(1)));
  }
  try {
    process.exitCode = (await measure(args)) ? 0 : 1;
  } finally {
    await endAll();
  }
}
