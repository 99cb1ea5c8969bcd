/** `npm run test:chaos`: replicas and etcd members are killed, stopped and cut off, and what clients saw is judged. */
import { finish, runVitest } from './run-vitest.mjs';
import { setUpEtcd } from './setup-etcd.mjs';

setUpEtcd();
finish(await runVitest(['test/chaos', ...process.argv.slice(2)], { CLUSTERPASS_CHAOS_SECONDS: '120', ...process.env }));
