/**
 * `npm run bench -- [NAME...] [--rounds N] [--seconds S] [--json]`: measures the program beside the least that any Node
 * server could do for the same work, in alternation, and prints how they compare. Ends with 1 when a goal is missed.
 */
import { spawnSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { benchGrowth } from './growth.ts';
import { benchHarm } from './harm.ts';
import { benchList } from './list.ts';
import { benchMemory, benchStart } from './memory.ts';
import type { Settings } from './support/compare.ts';
import { endEverything } from './support/processes.ts';
import { allHold, print, type Report } from './support/report.ts';
import { benchToken } from './token.ts';
import { benchTurns } from './turns.ts';
import { benchWatch } from './watch.ts';
import { benchWatchers } from './watchers.ts';
import { benchWorkers } from './workers.ts';
import { benchWrite } from './write.ts';

const BENCHES: Readonly<Record<string, (settings: Settings) => Promise<Report>>> = {
  token: benchToken,
  list: benchList,
  watch: benchWatch,
  write: benchWrite,
  memory: benchMemory,
  start: benchStart,
  growth: benchGrowth,
  watchers: benchWatchers,
  workers: benchWorkers,
  harm: benchHarm,
  turns: benchTurns,
};

/** Those that answer a question of their own, each with its own arguments: `npm run bench -- rotation 5 8`. */
const QUESTIONS: Readonly<Record<string, string>> = {
  rotation: 'rotation.ts',
  revocation: 'revocation.ts',
  existence: 'existence.ts',
  prober: 'prober.ts',
  overload: 'overload.ts',
  refusal: 'refusal.ts',
  drain: 'drain.ts',
  signing: 'signing.ts',
  'slow-clients': 'slow-clients.ts',
  compaction: 'compaction.ts',
  floods: 'floods.ts',
  'flood-soak': 'flood-soak.ts',
  'event-loop': 'event-loop.mjs',
  scale: 'scale.ts',
  console: 'console.ts',
};

const [first = '', ...others] = process.argv.slice(2);
const question = QUESTIONS[first];
if (question !== undefined) {
  const script = fileURLToPath(new URL(question, import.meta.url));
  process.exit(spawnSync(process.execPath, [script, ...others], { stdio: 'inherit' }).status ?? 1);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    json: { type: 'boolean', default: false },
  },
});
const names = positionals.length === 0 ? Object.keys(BENCHES) : positionals;
const unknown = names.find((name) => !(name in BENCHES));
if (unknown !== undefined) {
  console.error(`unknown benchmark "${unknown}": expected ${[BENCHES, QUESTIONS].flatMap(Object.keys).join(', ')}`);
  process.exit(2);
}
const settings = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
const progress = (line: string): void => console.error(`  ${line}`);
const machine = { processors: cpus().length, load: loadavg()[0] ?? 0, node: process.version };
const reports: Record<string, Report> = {};
// Whoever stops this means the servers too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void endEverything().finally(() => process.exit(1)));
}
try {
  if (!values.json) {
    console.log(
      `Node ${machine.node}, ${machine.processors} processors, load ${machine.load.toFixed(1)}; ${settings.rounds} rounds`,
    );
  }
  for (const name of names) {
    const report = await (BENCHES[name] as (settings: Settings) => Promise<Report>)({ ...settings, progress });
    await endEverything();
    reports[name] = report;
    if (!values.json) {
      console.log(`\n${name}`);
      print(report);
    }
  }
  if (values.json) console.log(JSON.stringify({ machine, settings, reports }, undefined, 2));
  process.exitCode = Object.values(reports).every(allHold) ? 0 : 1;
} finally {
  await endEverything();
}
