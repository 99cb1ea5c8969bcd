/** `node scripts/setup-haproxy.mjs`: fetches the real HAProxy for the tests of what stands in front of the server. */
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
