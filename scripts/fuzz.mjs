/**
 * `npm run fuzz [-- SECONDS]`: runs each fuzz target for SECONDS (60) with a random seed, which failures print. The
 * properties of the codecs and of patches are run more often than in `npm test`.
 */
import { finish, runVitest } from './run-vitest.mjs';

const PROPERTIES = ['src/api/codec/', 'src/objects/patches/'];
const [first = '60', ...rest] = process.argv.slice(2);
finish(await runVitest(['test/fuzz', ...PROPERTIES, ...rest], { CLUSTERPASS_FUZZ_SECONDS: first, ...process.env }));
