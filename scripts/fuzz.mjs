/** `npm run fuzz [-- SECONDS]`: runs each fuzz target for SECONDS (60) with a random seed, which failures print. */
import { finish, runVitest } from './run-vitest.mjs';

const [first = '60', ...rest] = process.argv.slice(2);
finish(await runVitest(['test/fuzz', ...rest], { CLUSTERPASS_FUZZ_SECONDS: first, ...process.env }));
