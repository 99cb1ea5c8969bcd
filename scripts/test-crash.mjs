/** `npm run test:crash`: the crash tests alone, with as many kills as it takes to trust the disk. */
import { finish, runVitest } from './run-vitest.mjs';

finish(await runVitest(['crash', ...process.argv.slice(2)], { CLUSTERPASS_CRASH_ROUNDS: '60', ...process.env }));
