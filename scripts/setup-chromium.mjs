/**
 * `node scripts/setup-chromium.mjs`: provides Chromium for the tests of the console. Uses the Chromium of this machine,
 * or installs Debian's if this runs as root: its headless shell, which takes a fifth less CPU time in the tests, and
 * the whole browser where the release has no headless shell. Chromium needs dozens of libraries, so it cannot be
 * unpacked without installing. If this fails, the tests are skipped and report why.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isProgram } from './test-program.mjs';

const FOLDER = fileURLToPath(new URL('../node_modules/.cache/clusterpass/chromium/', import.meta.url));
const PROBLEM = join(FOLDER, 'problem.txt');

const SHELL = 'chromium-headless-shell';
const NAMES = [SHELL, 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The path of Chromium; undefined if it is not installed. */
export function findChromium() {
  const { CLUSTERPASS_TEST_CHROMIUM: given, PATH = '' } = process.env;
  if (given) return isProgram(given) ? given : undefined;
  const folders = PATH.split(delimiter).filter(Boolean);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

/** @type {import('./test-program.mjs').Wanted} */
export const chromium = {
  name: 'Chromium',
  get path() {
    return findChromium();
  },
  problem: PROBLEM,
  script: 'scripts/setup-chromium.mjs',
};

/** @param {string[]} args */
function aptGet(args) {
  const { status, stderr, error } = spawnSync('apt-get', ['-qq', ...args], {
    encoding: 'utf8',
    timeout: 300_000,
    maxBuffer: 16 * 1024 * 1024,
    env: { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
  });
  if (status === 0) return undefined;
  const line = `${stderr ?? ''}`.split('\n').find((text) => text.startsWith('E: '));
  return `apt-get ${args[0]}: ${line ?? error?.message ?? `exit ${status}`}`;
}

function install() {
  if (process.getuid?.() !== 0) return 'chromium is not on the PATH, and only root can install it';
  const install = (/** @type {string} */ name) => aptGet(['install', '--yes', '--no-install-recommends', name]);
  // Skips the update of the package lists if they are recent enough.
  if (install(SHELL) === undefined) return undefined;
  const outdated = aptGet(['update']);
  if (outdated !== undefined) return outdated;
  return install(SHELL) === undefined ? undefined : install('chromium');
}

/** Installs Chromium if it is missing, or writes the reason for a failure to a file. Never throws. */
export function setUpChromium() {
  if (findChromium() !== undefined) return;
  console.error('Installing Chromium for the tests with apt-get (once).');
  // Without URLs: those of the machine's package sources may contain credentials.
  const problem = install()?.replaceAll(/\b[a-z+]+:\/\/\S+/g, '<address>');
  try {
    mkdirSync(FOLDER, { recursive: true });
    if (problem === undefined) rmSync(PROBLEM, { force: true });
    else {
      console.error(`Chromium could not be installed: ${problem}`);
      writeFileSync(PROBLEM, `${problem}\n`);
    }
  } catch {
    // The tests then report that Chromium is missing, without a reason.
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setUpChromium();
