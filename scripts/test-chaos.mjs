/**
 * `npm run test:chaos [-- --seconds S --reads N --seed X --namespaces]`: kills, stops and disconnects replicas and etcd
 * members for S seconds (120; 0 skips this), and checks what clients observed. Before that, makes N reads across
 * replicas (0). With --namespaces each process has a separate network and clock, which takes root.
 */
import { parseArgs } from 'node:util';
import { compiler, etcd, faketime, haproxy, ip, setUpPrograms } from './programs.mjs';
import { finish, runVitest } from './run-vitest.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '120' },
    reads: { type: 'string', default: '0' },
    seed: { type: 'string' },
    namespaces: { type: 'boolean', default: false },
  },
});
setUpPrograms(values.namespaces ? [etcd, ip, compiler, faketime] : [etcd, haproxy]);
finish(
  await runVitest(['test/chaos/replicas.chaos.ts', ...positionals], {
    ...process.env,
    CLUSTERPASS_CHAOS_SECONDS: values.seconds,
    CLUSTERPASS_CHAOS_READS: values.reads,
    CLUSTERPASS_CHAOS_NAMESPACES: `${values.namespaces}`,
    ...(values.seed === undefined ? {} : { CLUSTERPASS_CHAOS_SEED: values.seed }),
  }),
);
