/** `node scripts/setup-haproxy.mjs`: downloads HAProxy for the tests with a reverse proxy. */
import { fileURLToPath } from 'node:url';
import { setUpProgram, testProgram } from './test-program.mjs';

export const haproxy = testProgram({
  name: 'haproxy',
  package: 'haproxy',
  inPackage: 'usr/sbin/haproxy',
  versionArgs: ['-v'],
  needsLibraries: true,
});

export const setUpHaproxy = () => setUpProgram(haproxy);

if (process.argv[1] === fileURLToPath(import.meta.url)) setUpHaproxy();
