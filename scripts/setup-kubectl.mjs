/** `node scripts/setup-kubectl.mjs`: downloads kubectl for the tests. */
import { fileURLToPath } from 'node:url';
import { setUpProgram, testProgram } from './test-program.mjs';

export const kubectl = testProgram({
  name: 'kubectl',
  package: 'kubectl',
  inPackage: 'usr/bin/kubectl',
  versionArgs: ['version', '--client'],
});

export const KUBECTL = kubectl.path;
export const setUpKubectl = () => setUpProgram(kubectl);

if (process.argv[1] === fileURLToPath(import.meta.url)) setUpKubectl();
