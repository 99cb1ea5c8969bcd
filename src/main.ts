import { processContext } from './cli/context.ts';
import { runProgram } from './cli/program.ts';
import { programVersion } from './cli/version.ts';
import type { StoreTask } from './server/store-command.ts';

const version = programVersion();
const context = processContext(version);

// Imported only for these commands: the others are clients and start faster without the server's modules.
process.exitCode = await runProgram(process.argv.slice(2), context, async ({ path: [group, task] }, flags, own) => {
  if (group === 'serve') return (await import('./server/serve.ts')).serve(flags, version);
  if (group === 'admin-token') return (await import('./server/admin-token-command.ts')).runAdminTokenRotate(flags);
  const { runStoreCommand } = await import('./server/store-command.ts');
  const { storeClient } = await import('./cli/served-lists.ts');
  return runStoreCommand(task as StoreTask, flags, storeClient(own), own);
});
