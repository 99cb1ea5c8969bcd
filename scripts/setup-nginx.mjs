/** `node scripts/setup-nginx.mjs`: fetches the real nginx for the tests of what stands in front of the server. */
import { fileURLToPath } from 'node:url';
import { setUpProgram, testProgram } from './test-program.mjs';

export const nginx = testProgram({
  name: 'nginx',
  package: 'nginx',
  inPackage: 'usr/sbin/nginx',
  versionArgs: ['-v'],
  needsLibraries: true,
});

export const setUpNginx = () => setUpProgram(nginx);

if (process.argv[1] === fileURLToPath(import.meta.url)) setUpNginx();
