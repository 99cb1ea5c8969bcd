/**
 * `npm run fuzz [-- SECONDS]`: runs each fuzz target for SECONDS (60) with a random seed, which failures print. The
 * properties of codecs, patches, permissions, tokens, watches and stores are run ten times as often as in `npm test`.
 */
import { finish, runVitest } from './run-vitest.ts';

const PROPERTIES = ['src/api/codec/', 'src/objects/patches/', 'test/property/', 'test/conformance/'];
/** A property takes ten times as long as in `npm test`. */
const TIMEOUT = '--testTimeout=1200000';
const [first = '60', ...rest] = process.argv.slice(2);
const args = ['test/fuzz', ...PROPERTIES, TIMEOUT, ...rest];
finish(await runVitest(args, { CLUSTERPASS_FUZZ_SECONDS: first }));
