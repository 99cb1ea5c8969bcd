/**
 * `npm run models [-- NAME...]`: searches each model of this folder exhaustively, within the bounds of `models.mjs`, and
 * each of its faults for a counterexample, which it writes to `transcripts/`. docs/models.md says how to read them.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiler, setUpPrograms, spin, whyMissing } from '../scripts/programs.mjs';
import { MODELS } from './models.mjs';
import { rulesHeader } from './rules.mjs';

const FOLDER = import.meta.dirname;
const MEGABYTES = 2_048;

/**
 * @typedef {object} Result
 * @property {number} states
 * @property {number} seconds
 * @property {string[] | undefined} counterexample the steps to a violation, and the promise that it breaks
 */

/** @param {string} command @param {string[]} args @param {string} cwd */
function output(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout;
}

/**
 * Searches all states of a model. Breadth first with `shortest`, which takes more memory: a counterexample is then as
 * short as any.
 * @param {string} name
 * @param {readonly string[]} bounds
 * @param {{ shortest?: boolean, optimize?: string }} [options] `optimize`: large searches take half as long with -O2
 * @returns {Result}
 */
export function search(name, bounds, { shortest = false, optimize = '-O0' } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-model-'));
  const file = `${name}.pml`;
  const definitions = bounds.map((bound) => `-D${bound}`);
  try {
    copyFileSync(join(FOLDER, file), join(folder, file));
    writeFileSync(join(folder, 'rules.h'), rulesHeader());
    output(spin.path ?? '', ['-a', ...definitions, file], folder);
    // States of one process are small: to collapse them takes twice as long, and saves nothing.
    const settings = ['-DSAFETY', `-DMEMLIM=${MEGABYTES}`, ...(shortest ? ['-DBFS'] : [])];
    output(compiler.path ?? '', [optimize, '-w', ...settings, '-o', 'pan', 'pan.c'], folder);
    const found = output('nice', ['-n', '10', './pan', '-E', '-m1000000'], folder);
    if (/reached -DMEMLIM|max search depth too small/.test(found)) {
      throw new Error(`the search of ${name} ${bounds.join(' ')} is not complete: it needs more memory`);
    }
    const states = Number(/(\S+) states, stored/.exec(found)?.[1]);
    const seconds = Number(/elapsed time (\S+)/.exec(found)?.[1]);
    if (/errors: 0$/m.test(found)) return { states, seconds, counterexample: undefined };
    const trail = output(spin.path ?? '', ['-t', ...definitions, file], folder);
    const steps = trail.split('\n').flatMap((line) => (/^ {6}/.test(line) ? [line.trim().replace(/: +/, ': ')] : []));
    return { states, seconds, counterexample: steps };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} name @param {string} fault */
export const transcriptOf = (name, fault) =>
  join(FOLDER, 'transcripts', `${name}-${fault.replaceAll('_', '-').toLowerCase()}.txt`);

/** @param {string[]} names */
function runModels(names) {
  setUpPrograms([spin, compiler]);
  for (const program of [spin, compiler]) {
    const reason = whyMissing(program);
    if (reason !== undefined) throw new Error(`${program.name} is missing: ${reason}`);
  }
  mkdirSync(join(FOLDER, 'transcripts'), { recursive: true });
  for (const { name, full, quick, faults } of MODELS) {
    if (names.length > 0 && !names.includes(name)) continue;
    for (const bounds of [quick, ...full]) {
      const { states, seconds, counterexample } = search(name, bounds, { optimize: '-O2' });
      console.log(`${name} ${bounds.join(' ')}: ${states} states, ${seconds} s`);
      if (counterexample === undefined) continue;
      console.error(`${counterexample.join('\n')}\nThe model ${name} has a counterexample.`);
      process.exitCode = 1;
    }
    for (const { fault, bounds = quick } of faults) {
      const { states, counterexample } = search(name, [...bounds, `FAULT=${fault}`], { shortest: true });
      if (counterexample === undefined) {
        console.error(`${name} does not find ${fault}`);
        process.exitCode = 1;
        continue;
      }
      console.log(`${name} ${fault}: found in ${states} states, ${counterexample.length} steps`);
      writeFileSync(transcriptOf(name, fault), `${[`bounds: ${bounds.join(' ')}`, ...counterexample].join('\n')}\n`);
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) runModels(process.argv.slice(2));
