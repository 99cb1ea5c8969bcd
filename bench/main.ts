/**
 * `npm run bench -- [NAME...] [--rounds N] [--seconds S] [--json]`: measures Clusterpass beside a floor, the least that
 * any Node server could do for the same work, and prints how they compare. Exits with 1 when a goal is missed.
 *
 * `npm run bench -- STUDY [ARGUMENT...]`: runs one study. The comment at the top of its file says what it measures.
 *
 * `npm run bench -- NAME STUDY...`: runs several studies and benchmarks, one after the other, without arguments.
 */
import { fileURLToPath } from 'node:url';
import { endLike, runChild } from '../bin/run-child.mjs';
import { GOAL_NAMES, runGoals } from './goals.ts';

/** Each answers one question and has its own arguments: `npm run bench -- rotation 5 8`. */
const STUDIES = [
  'rotation',
  'revocation',
  'existence',
  'prober',
  'overload',
  'refusal',
  'token-exchange',
  'drain',
  'signing',
  'slow-clients',
  'compaction',
  'floods',
  'flood-soak',
  'event-loop',
  'scale',
  'console',
  'who-can',
  'watches',
  'reconnect',
  'million',
  'replicas',
  'slow-disk',
  'duties',
  'memory-floor',
];

const isStudy = (name: string): boolean => STUDIES.includes(name);

/** A study has a separate script. A benchmark with a goal is this program with one name. */
function scriptOf(name: string): string[] {
  if (!isStudy(name)) return [fileURLToPath(import.meta.url), name];
  return [fileURLToPath(new URL(`studies/${name}.ts`, import.meta.url))];
}

/** Each in a separate process: one that fails does not end the others. A signal ends them all. */
async function runEach(names: readonly string[]): Promise<void> {
  for (const name of names) {
    console.log(`\n== ${name}`);
    const ended = await runChild(process.execPath, scriptOf(name));
    if (ended.signal !== null) return endLike(ended);
    if (ended.code !== 0) process.exitCode = 1;
  }
}

const [first = '', ...others] = process.argv.slice(2);
const names = [first, ...others];
if (names.length > 1 && names.some(isStudy) && names.every((name) => isStudy(name) || GOAL_NAMES.includes(name))) {
  await runEach(names);
} else if (isStudy(first)) {
  endLike(await runChild(process.execPath, [...scriptOf(first), ...others]));
} else {
  await runGoals(STUDIES);
}
