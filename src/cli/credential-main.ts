import { workerEntry } from '../lib/program-files.ts';
import { runCredential } from './credential-program.ts';

/** The entry of `clusterpass credential`; see bin/clusterpass.mjs. */
await runCredential(process.argv.slice(3), () => import(workerEntry('main').href));
