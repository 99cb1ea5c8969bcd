/**
 * `npm run test:chaos [-- --seconds S --reads N --seed X --namespaces]`: kills, stops and disconnects replicas and etcd
 * members for S seconds (120; 0 skips this), and checks what clients observed. Before that, makes N reads across
 * replicas (0). With --namespaces each process has a separate network and clock, which takes root.
 */
import { parseArgs } from 'node:util';
import { compiler, etcd, faketime, haproxy, ip, setUpPrograms } from './programs.ts';
import { finish, runVitest } from './run-vitest.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '120' },
    reads: { type: 'string' },
    seed: { type: 'string' },
    namespaces: { type: 'boolean' },
  },
});
setUpPrograms(values.namespaces ? [etcd, ip, compiler, faketime] : [etcd, haproxy]);
const env = Object.entries(values).map(([name, value]) => [`CLUSTERPASS_CHAOS_${name.toUpperCase()}`, String(value)]);
finish(await runVitest(['test/chaos/replicas.chaos.ts', ...positionals], Object.fromEntries(env)));
