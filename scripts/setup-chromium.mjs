/**
 * `node scripts/setup-chromium.mjs`: sees to it that there is a Chromium for the tests of the console: one that the
 * machine has, or Debian's, which is installed when this runs as root. It needs dozens of libraries, so that unpacking
 * it without installing would not do. Without success the tests say why they were skipped.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isProgram } from './test-program.mjs';

const FOLDER = fileURLToPath(new URL('../node_modules/.cache/clusterpass/chromium/', import.meta.url));
const PROBLEM = join(FOLDER, 'problem.txt');

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The program, or undefined when there is none. */
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
  if (process.getuid?.() !== 0) return 'there is no chromium on the PATH, and only root can install it';
  const install = ['install', '--yes', '--no-install-recommends', 'chromium'];
  // Where the lists of packages are fresh enough, they need not be fetched.
  if (aptGet(install) === undefined) return undefined;
  return aptGet(['update']) ?? aptGet(install);
}

/** Sees to it that Chromium is there, or that it is written down why it is not. Never throws. */
export function setUpChromium() {
  if (findChromium() !== undefined) return;
  console.error('Installing Chromium for the tests (apt-get), once.');
  // Without the addresses in it: they are the machine's, and may hold credentials.
  const problem = install()?.replaceAll(/\b[a-z+]+:\/\/\S+/g, '<address>');
  try {
    mkdirSync(FOLDER, { recursive: true });
    if (problem === undefined) rmSync(PROBLEM, { force: true });
    else {
      console.error(`Chromium could not be installed: ${problem}`);
      writeFileSync(PROBLEM, `${problem}\n`);
    }
  } catch {
    // Then the tests report that it is missing, without a reason.
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setUpChromium();
