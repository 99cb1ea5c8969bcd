/** `npm run fuzz [-- SECONDS]`: each target of the fuzzer for so long, with a seed of its own that a failure prints. */
import { finish, runVitest } from './run-vitest.mjs';

const [first = '60', ...rest] = process.argv.slice(2);
finish(await runVitest(['test/fuzz', ...rest], { CLUSTERPASS_FUZZ_SECONDS: first, ...process.env }));
