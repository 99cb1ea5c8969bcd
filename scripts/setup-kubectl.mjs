/** `node scripts/setup-kubectl.mjs`: downloads kubectl for the tests. */
import { fileURLToPath } from 'node:url';
import { setUpProgram, testProgram } from './test-program.mjs';

/** `newest`: from Debian's testing or unstable release, instead of a stable one. */
const isNewest = process.env.CLUSTERPASS_TEST_KUBECTL === 'newest';

export const kubectl = testProgram({
  name: isNewest ? 'kubectl-newest' : 'kubectl',
  script: 'kubectl',
  ...(isNewest ? { suites: ['forky', 'sid'] } : {}),
  package: 'kubectl',
  inPackage: 'usr/bin/kubectl',
  versionArgs: ['version', '--client'],
});

export const KUBECTL = kubectl.path;
export const setUpKubectl = () => setUpProgram(kubectl);

if (process.argv[1] === fileURLToPath(import.meta.url)) setUpKubectl();
