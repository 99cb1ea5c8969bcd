/**
 * `npm run bench -- [NAME...] [--rounds N] [--seconds S] [--json]`: measures Clusterpass beside a floor, the least that
 * any Node server could do for the same work, and prints how they compare. Exits with 1 when a goal is missed.
 *
 * `npm run bench -- STUDY [ARGUMENT...]`: runs one study. The comment at the top of its file says what it measures.
 */
import { spawnSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { benchGrowth } from './goals/growth.ts';
import { benchInterference } from './goals/interference.ts';
import { benchList } from './goals/list.ts';
import { benchMemory } from './goals/memory.ts';
import { benchStart } from './goals/start.ts';
import { benchTicks } from './goals/ticks.ts';
import { benchToken } from './goals/token.ts';
import { benchWatch } from './goals/watch.ts';
import { benchWatchers } from './goals/watchers.ts';
import { benchWorkers } from './goals/workers.ts';
import { benchWrite } from './goals/write.ts';
import type { Settings } from './support/compare.ts';
import { endAll } from './support/processes.ts';
import { allHold, HEADER, print, type Report } from './support/report.ts';

/** Each holds Clusterpass to a goal. Without a name, all of them run. */
const GOALS: Readonly<Record<string, (settings: Settings) => Promise<Report>>> = {
  token: benchToken,
  list: benchList,
  watch: benchWatch,
  write: benchWrite,
  memory: benchMemory,
  start: benchStart,
  growth: benchGrowth,
  watchers: benchWatchers,
  workers: benchWorkers,
  interference: benchInterference,
  ticks: benchTicks,
};

/** Each answers one question and has its own arguments: `npm run bench -- rotation 5 8`. */
const STUDIES = [
  'rotation',
  'revocation',
  'existence',
  'prober',
  'overload',
  'refusal',
  'drain',
  'signing',
  'slow-clients',
  'compaction',
  'floods',
  'flood-soak',
  'event-loop',
  'scale',
  'console',
];

const [first = '', ...others] = process.argv.slice(2);
if (STUDIES.includes(first)) {
  const script = fileURLToPath(new URL(`studies/${first}.ts`, import.meta.url));
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
const names = positionals.length === 0 ? Object.keys(GOALS) : positionals;
const unknown = names.find((name) => !(name in GOALS));
if (unknown !== undefined) {
  console.error(`unknown benchmark "${unknown}": expected ${[...Object.keys(GOALS), ...STUDIES].join(', ')}`);
  process.exit(2);
}
const settings = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
for (const [name, value] of Object.entries(settings)) {
  if (value > 0) continue;
  console.error(`--${name} must be a number above 0`);
  process.exit(2);
}
const progress = (line: string): void => console.error(`  ${line}`);
const machine = { processors: cpus().length, load: loadavg()[0] ?? 0, node: process.version };
const reports: Record<string, Report> = {};
// The servers are children of this process and must end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void endAll().finally(() => process.exit(1)));
}
try {
  if (!values.json) {
    console.log(`Node ${machine.node}, ${machine.processors} processors, load average ${machine.load.toFixed(1)}`);
    console.log(`${settings.rounds} rounds of about ${settings.seconds} s for each side\n\n${HEADER}`);
  }
  for (const name of names) {
    const report = await (GOALS[name] as (settings: Settings) => Promise<Report>)({ ...settings, progress });
    await endAll();
    reports[name] = report;
    if (!values.json) {
      console.log(`\n${name}`);
      print(report);
    }
  }
  if (values.json) console.log(JSON.stringify({ machine, settings, reports }, undefined, 2));
  process.exitCode = Object.values(reports).every(allHold) ? 0 : 1;
} finally {
  await endAll();
}
