/** `node scripts/setup-umoci.mjs`: downloads umoci, which writes OCI images. */
import { fileURLToPath } from 'node:url';
import { setUpProgram, testProgram } from './test-program.mjs';

export const umoci = testProgram({
  name: 'umoci',
  package: 'umoci',
  inPackage: 'usr/bin/umoci',
  versionArgs: ['--version'],
});

export const UMOCI = umoci.path;
export const setUpUmoci = () => setUpProgram(umoci);

if (process.argv[1] === fileURLToPath(import.meta.url)) setUpUmoci();
