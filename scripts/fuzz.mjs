/**
 * `npm run fuzz [-- SECONDS]`: runs each fuzz target for SECONDS (60) with a random seed, which failures print. The
 * properties of codecs, patches, permissions, tokens, watches and stores are run ten times as often as in `npm test`.
 */
import { finish, runVitest } from './run-vitest.mjs';

const PROPERTIES = ['src/api/codec/', 'src/objects/patches/', 'test/property/', 'test/conformance/'];
const [first = '60', ...rest] = process.argv.slice(2);
finish(await runVitest(['test/fuzz', ...PROPERTIES, ...rest], { CLUSTERPASS_FUZZ_SECONDS: first, ...process.env }));
