/** `node scripts/setup-etcd.mjs`: downloads etcd for the tests. */
import { fileURLToPath } from 'node:url';
import { setUpProgram, testProgram } from './test-program.mjs';

export const etcd = testProgram({
  name: 'etcd',
  package: 'etcd-server',
  inPackage: 'usr/bin/etcd',
  versionArgs: ['--version'],
});

export const ETCD = etcd.path;
export const setUpEtcd = () => setUpProgram(etcd);

if (process.argv[1] === fileURLToPath(import.meta.url)) setUpEtcd();
