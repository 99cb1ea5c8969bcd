import { workerEntry } from '../lib/program-files.ts';
import { runCredential } from './credential-program.ts';

/**
 * The entry of `clusterpass credential`; see bin/clusterpass.mjs. Not awaited: modules that it loads later import from
 * the bundle of this one, and would wait for its end.
 */
void runCredential(process.argv.slice(3), () => import(workerEntry('main').href));
