/** `npm run test:crash`: runs the crash tests with 60 rounds instead of a few. */
import { finish, runVitest } from './run-vitest.ts';

finish(await runVitest(['crash', ...process.argv.slice(2)], { CLUSTERPASS_CRASH_ROUNDS: '60' }));
