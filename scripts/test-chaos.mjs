/**
 * `npm run test:chaos [-- --seconds S --reads N --seed X]`: replicas and etcd members are killed, stopped and cut off for S
 * seconds (120; 0 leaves it out), and what clients saw is judged. N reads across replicas come first (none).
 */
import { parseArgs } from 'node:util';
import { finish, runVitest } from './run-vitest.mjs';
import { setUpEtcd } from './setup-etcd.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '120' },
    reads: { type: 'string', default: '0' },
    seed: { type: 'string' },
  },
});
for (const [name, value] of Object.entries(values)) {
  if (!/^\d+$/.test(value)) {
    console.error(`--${name} is a number, not "${value}"`);
    process.exit(2);
  }
}
setUpEtcd();
finish(
  await runVitest(['test/chaos/replicas.chaos.ts', ...positionals], {
    ...process.env,
    CLUSTERPASS_CHAOS_SECONDS: values.seconds,
    CLUSTERPASS_CHAOS_READS: values.reads,
    ...(values.seed === undefined ? {} : { CLUSTERPASS_CHAOS_SEED: values.seed }),
  }),
);
