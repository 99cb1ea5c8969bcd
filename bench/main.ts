/**
 * `npm run bench -- [NAME...] [--rounds N] [--seconds S] [--json]`: measures Clusterpass beside a floor, the least that
 * any Node server could do for the same work, and prints how they compare. Exits with 1 when a goal is missed.
 *
 * `npm run bench -- STUDY [ARGUMENT...]`: runs one study. The comment at the top of its file says what it measures.
 */
import { fileURLToPath } from 'node:url';
import { endLike, runChild } from '../bin/run-child.mjs';

/** Each answers one question and has its own arguments: `npm run bench -- rotation 5 8`. */
const STUDIES = [
  'rotation',
  'revocation',
  'existence',
  'prober',
  'overload',
  'refusal',
  'exchange',
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
];

const [first = '', ...others] = process.argv.slice(2);
if (STUDIES.includes(first)) {
  const script = fileURLToPath(new URL(`studies/${first}.ts`, import.meta.url));
  endLike(await runChild(process.execPath, [script, ...others]));
} else {
  const { runGoals } = await import('./goals.ts');
  await runGoals(STUDIES);
}
