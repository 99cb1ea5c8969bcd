/**
 * `npm run build`: compiles the program into dist/, bundles single commands and builds the console. `npm pack`
 * runs it first.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from '../bin/run-child.mjs';
import { bundleAlone } from './artifacts/plugin.mjs';
import { ROOT } from './setup.mjs';
import { setUpConsole } from './setup-console.mjs';

// Files of an earlier build would be packed, too.
rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
// The tests of a release set this: `npm test` has checked the types before. The emitted files are the same.
const unchecked = process.env.CLUSTERPASS_TYPES_CHECKED === 'true' ? ['--noCheck'] : [];
// Several threads infer the types that they share once each: three times the CPU time. tsc is written in Go: without
// garbage collection it takes a sixth less.
const compile = (/** @type {string} */ project) =>
  runChild(process.execPath, [tsc, '-p', project, '--singleThreaded', ...unchecked], {
    cwd: ROOT,
    env: { ...process.env, GOGC: 'off' },
  });
let { code } = await compile('tsconfig.build.json');
if (code === 0) ({ code } = await compile('tsconfig.client.json'));
if (code === 0) await bundleAlone(join(ROOT, 'dist'));
if (code !== 0 || !(await setUpConsole())) process.exitCode = 1;
