/** `node scripts/setup-promtool.mjs`: downloads promtool, which checks alert rules in the tests. */
import { fileURLToPath } from 'node:url';
import { setUpProgram, testProgram } from './test-program.mjs';

export const promtool = testProgram({
  name: 'promtool',
  package: 'promtool',
  inPackage: 'usr/bin/promtool',
  versionArgs: ['--version'],
});

export const setUpPromtool = () => setUpProgram(promtool);

if (process.argv[1] === fileURLToPath(import.meta.url)) setUpPromtool();
