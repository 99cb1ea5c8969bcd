import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAM_FOLDER } from '../scripts/setup-program.ts';

/** The program that tests start: a bundle of the sources, made before the first test. */
export const PROGRAM = join(PROGRAM_FOLDER, 'dist/main.js');
/** Starts that program as users do. */
export const LAUNCHER = join(PROGRAM_FOLDER, 'bin/clusterpass.mjs');
/** The sources themselves, for tests that follow requests through files. */
export const SOURCE_PROGRAM = fileURLToPath(new URL('../src/main.ts', import.meta.url));
