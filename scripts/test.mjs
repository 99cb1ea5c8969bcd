/** `npm test`: runs all checks and tests. Arguments (paths, `-t name`) select tests. */
import { execFile } from 'node:child_process';
import { getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setUpPrograms } from './programs.mjs';
import { finish, runVitest } from './run-vitest.mjs';
import { ROOT } from './setup.mjs';

/** @param {string} path */
const inRoot = (path) => join(ROOT, path);

/**
 * One checker: several would each check shared files again, which doubles the CPU time. tsc caches its results, and
 * checks only changed files.
 * @param {string} project
 */
const tsc = (project) => [
  ...[inRoot('node_modules/typescript/bin/tsc'), '--singleThreaded', '--noEmit', '-p', project, '--incremental'],
  ...['--tsBuildInfoFile', inRoot(`node_modules/.cache/clusterpass/types/${project === '.' ? 'src' : project}.json`)],
];

/** Arguments of Node. The checks change no file of the project. @type {Record<string, string[]>} */
const CHECKS = {
  'types (tsc)': tsc('.'),
  'types of the console (tsc)': tsc('console'),
  'import edges (dependency-cruiser)': [
    inRoot('node_modules/dependency-cruiser/bin/dependency-cruiser.mjs'),
    ...['--config', inRoot('.dependency-cruiser.mjs'), 'src', 'console/src', 'bench', 'scripts'],
  ],
  // Warnings fail, too: otherwise they would accumulate unread.
  'lint and format (biome)': [
    inRoot('node_modules/@biomejs/biome/bin/biome'),
    'check',
    '--error-on-warnings',
    '--max-diagnostics=none',
    '.',
  ],
  'generated files are up to date': [inRoot('scripts/generate.mjs'), '--check'],
};

/** Nice value of the checks: tests go first. Never below that of this process, which only root may lower. */
const CHECK_NICENESS = Math.max(10, getPriority());

/** @param {string[]} args */
async function check(args) {
  // tsc is written in Go. Without garbage collection it takes a sixth less CPU time, and 1.1 GB instead of 1.0.
  const options = { cwd: ROOT, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, GOGC: 'off' } };
  try {
    const running = promisify(execFile)(process.execPath, args, options);
    if (running.child.pid !== undefined) setPriority(running.child.pid, CHECK_NICENESS);
    await running;
    return undefined;
  } catch (error) {
    const { stdout, stderr, message } = /** @type {Error & { stdout?: string, stderr?: string }} */ (error);
    return `${stdout ?? ''}${stderr ?? ''}` || message;
  }
}

// They run while the programs for the tests are downloaded, and beside the tests.
const checks = Object.entries(CHECKS).map(([name, args]) => ({ name, problem: check(args) }));
setUpPrograms();

const tests = await runVitest(process.argv.slice(2));
let passed = 0;
let failed = 0;
for (const { name, problem } of checks) {
  const found = await problem;
  if (found === undefined) {
    passed += 1;
    console.log(`ok      ${name}`);
  } else {
    failed += 1;
    console.log(`FAILED  ${name}\n${found}`);
  }
}

finish({ passed: passed + tests.passed, failed: failed + tests.failed, skipped: tests.skipped });
