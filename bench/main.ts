/**
 * `npm run bench -- [NAME...] [--rounds N] [--seconds S] [--rows WORD] [--json]`: measures Clusterpass, mostly beside a
 * floor, the least that any Node server could do for the same work. Without a name, everything in `goals/` runs; the
 * programs in `studies/` take long and run by name. Exits with 1 when a goal is missed. The comment of `run` in each
 * file says what it measures.
 */
import { readdirSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type Figure, HEADER, holds, lineOf, type Settings } from './support/measure.ts';
import { endAll } from './support/processes.ts';

type Benchmark = (settings: Settings) => Promise<Figure[]>;

const namesIn = (folder: string): string[] =>
  readdirSync(new URL(folder, import.meta.url)).map((file) => file.replace('.ts', ''));
const GOALS = namesIn('goals/');
const STUDIES = namesIn('studies/');

interface Arguments {
  readonly names: readonly string[];
  readonly settings: Settings;
  readonly json: boolean;
}

/** Throws an error that says what would be right. */
function readArguments(): Arguments {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      rows: { type: 'string', default: '' },
      json: { type: 'boolean', default: false },
    },
  });
  const known = [...GOALS, ...STUDIES];
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`unknown benchmark "${unknown}": expected ${known.join(', ')}`);
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be a whole number above 0');
  if (!(seconds > 0)) throw new Error('--seconds must be a number above 0');
  const progress = (line: string): void => console.error(`  ${line}`);
  const names = positionals.length === 0 ? GOALS : positionals;
  return { names, settings: { rounds, seconds, rows: values.rows, progress }, json: values.json };
}

async function measure({ names, settings, json }: Arguments): Promise<boolean> {
  const machine = { processors: cpus().length, load: loadavg()[0] ?? 0, node: process.version };
  const reports: Record<string, Figure[]> = {};
  const say = (text: string): void => {
    if (!json) console.log(text);
  };
  say(`Node ${machine.node}, ${machine.processors} processors, load average ${machine.load.toFixed(1)}\n${HEADER}`);
  for (const name of names) {
    const folder = GOALS.includes(name) ? 'goals' : 'studies';
    const { run } = (await import(`./${folder}/${name}.ts`)) as { run: Benchmark };
    const figures = await run(settings);
    await endAll();
    reports[name] = figures;
    say(`\n${name}\n${figures.map(lineOf).join('\n')}`);
  }
  if (json) console.log(JSON.stringify({ machine, settings, reports }, undefined, 2));
  return Object.values(reports).flat().every(holds);
}

// The servers are children of this process and must end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void endAll().finally(() => process.exit(1)));
}
let args: Arguments | undefined;
try {
  args = readArguments();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
if (args !== undefined) {
  try {
    process.exitCode = (await measure(args)) ? 0 : 1;
  } finally {
    await endAll();
  }
}
