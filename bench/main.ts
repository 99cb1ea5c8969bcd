/**
 * `npm run bench -- [NAME...] [--rounds N] [--seconds S] [--rows WORD]`: measures Clusterpass, mostly beside a
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
}

/** Throws an error that says what would be right. */
function readArguments(): Arguments {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      rows: { type: 'string', default: '' },
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
  return { names, settings: { rounds, seconds, rows: values.rows, progress } };
}

async function measure({ names, settings }: Arguments): Promise<boolean> {
  const load = loadavg()[0] ?? 0;
  console.log(`Node ${process.version}, ${cpus().length} processors, load average ${load.toFixed(1)}\n${HEADER}`);
  let allHold = true;
  for (const name of names) {
    const folder = GOALS.includes(name) ? 'goals' : 'studies';
    const { run } = (await import(`./${folder}/${name}.ts`)) as { run: Benchmark };
    const figures = await run(settings);
    await endAll();
    console.log(`\n${name}\n${figures.map(lineOf).join('\n')}`);
    allHold &&= figures.every(holds);
  }
  return allHold;
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
