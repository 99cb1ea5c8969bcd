/** `npm test`: runs all checks and tests. Arguments (paths, `-t name`) select tests. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setUpPrograms } from './programs.ts';
import { finish, runVitest } from './run-vitest.ts';
import { ROOT } from './setup.mjs';

const inRoot = (path: string): string => join(ROOT, path);

/**
 * One checker: several would each check shared files again, which doubles the CPU time. tsc caches its results, and
 * checks only changed files.
 */
const tsc = (project: string): string[] => [
  ...[inRoot('node_modules/typescript/bin/tsc'), '--singleThreaded', '--noEmit', '-p', project, '--incremental'],
  ...['--tsBuildInfoFile', inRoot(`node_modules/.cache/clusterpass/types/${project === '.' ? 'src' : project}.json`)],
];

/** Arguments of Node. The checks change no file of the project. */
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
    ...['check', '--error-on-warnings', '--max-diagnostics=none', '.'],
  ],
  'generated files are up to date': [inRoot('scripts/generate.ts'), '--check'],
};

/** What a check has found, if anything. */
async function check(args: readonly string[]): Promise<string | undefined> {
  // tsc is written in Go. Without garbage collection it takes a sixth less CPU time, and 1.1 GB instead of 1.0.
  const options = { cwd: ROOT, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, GOGC: 'off' } };
  try {
    // Tests go first.
    await promisify(execFile)('nice', ['-n', '10', process.execPath, ...args], options);
    return undefined;
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { stdout?: string; stderr?: string };
    return `${stdout ?? ''}${stderr ?? ''}` || message;
  }
}

// They run while the programs for the tests are downloaded, and beside the tests.
const checks = Object.entries(CHECKS).map(([name, args]) => ({ name, problem: check(args) }));
setUpPrograms();

const { passed, failed, skipped } = await runVitest(process.argv.slice(2));
const problems = await Promise.all(
  checks.map(async ({ name, problem }) => {
    const found = await problem;
    console.log(found === undefined ? `ok      ${name}` : `FAILED  ${name}\n${found}`);
    return found === undefined ? 0 : 1;
  }),
);
const bad = problems.filter(Boolean).length;
finish({ passed: passed + checks.length - bad, failed: failed + bad, skipped });
