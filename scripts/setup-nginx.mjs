/** `node scripts/setup-nginx.mjs`: downloads nginx for the tests with a reverse proxy. */
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
