/**
 * `npm run models [-- NAME...]`: searches each model of this folder exhaustively, within the bounds of `models.mjs`, and
 * each of its faults for a counterexample, which it writes to `transcripts/`. docs/models.md says how to read them.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiler, setUpPrograms, spin, whyMissing } from '../scripts/programs.ts';
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

/** @param {string} command @param {string[]} args @param {string} cwd @param {NodeJS.ProcessEnv} [env] */
function output(command, args, cwd, env) {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 };
  const { status, stdout, stderr, error } = spawnSync(command, args, { ...options, encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout;
}

/** The fault in the generated program, which has no names. */
const PLACEHOLDER = '32123';
const READ_FAULT = `
#include <stdlib.h>
static int fault;
__attribute__((constructor)) static void readFault(void) { fault = atoi(getenv("FAULT")); }
`;

/**
 * Compiles a model, once for all of its faults: a compilation takes longer than most searches. It is searched breadth
 * first with `shortest`, which takes more memory: a counterexample is then as short as any. With `large` the compiler
 * optimizes, and a search takes half as long.
 * @param {string} name
 * @param {readonly string[]} bounds
 * @param {{ shortest?: boolean, large?: boolean }} [options]
 */
export function compileModel(name, bounds, { shortest = false, large = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-model-'));
  const file = `${name}.pml`;
  const definitions = bounds.map((bound) => `-D${bound}`);
  copyFileSync(join(FOLDER, file), join(folder, file));
  writeFileSync(join(folder, 'rules.h'), rulesHeader());
  output(spin.path ?? '', ['-a', ...definitions, `-DFAULT=${PLACEHOLDER}`, file], folder);
  const moves = join(folder, 'pan.m');
  writeFileSync(moves, readFileSync(moves, 'utf8').replaceAll(PLACEHOLDER, 'fault'));
  appendFileSync(join(folder, 'pan.h'), READ_FAULT);
  const names = readFileSync(join(folder, 'pan.c'), 'utf8').matchAll(/case (\d+): Printf\("(\w+)"\)/g);
  const numbers = new Map([...names].map(([, number, fault]) => [fault, number]));
  // States of one process are small: to collapse them takes twice as long, and saves nothing.
  const settings = ['-DSAFETY', `-DMEMLIM=${MEGABYTES}`, ...(shortest ? ['-DBFS'] : [])];
  output(compiler.path ?? '', [large ? '-O2' : '-O0', '-w', ...settings, '-o', 'pan', 'pan.c'], folder);
  // Tables for as many states take longer than a small search.
  const tables = large ? ['-m1000000'] : ['-m10000', '-w18'];
  return {
    /** Searches all states. @param {string} [fault] @returns {Result} */
    search: (fault = 'NONE') => {
      const number = numbers.get(fault);
      if (number === undefined) throw new Error(`the model ${name} has no ${fault}`);
      const found = output('nice', ['-n', '10', './pan', '-E', ...tables], folder, { FAULT: number });
      if (/reached -DMEMLIM|max search depth too small/.test(found)) {
        throw new Error(`the search of ${name} ${bounds.join(' ')} is not complete: it needs more memory`);
      }
      const states = Number(/(\S+) states, stored/.exec(found)?.[1]);
      const seconds = Number(/elapsed time (\S+)/.exec(found)?.[1]);
      if (/errors: 0$/m.test(found)) return { states, seconds, counterexample: undefined };
      const trail = output(spin.path ?? '', ['-t', ...definitions, `-DFAULT=${fault}`, file], folder);
      const steps = trail.split('\n').flatMap((line) => (/^ {6}/.test(line) ? [line.trim().replace(/: +/, ': ')] : []));
      return { states, seconds, counterexample: steps };
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
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
      const model = compileModel(name, bounds, { large: true });
      const { states, seconds, counterexample } = model.search();
      model.remove();
      console.log(`${name} ${bounds.join(' ')}: ${states} states, ${seconds} s`);
      if (counterexample === undefined) continue;
      console.error(`${counterexample.join('\n')}\nThe model ${name} has a counterexample.`);
      process.exitCode = 1;
    }
    for (const { fault, bounds = quick } of faults) {
      const model = compileModel(name, bounds, { shortest: true });
      const { states, counterexample } = model.search(fault);
      model.remove();
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
