import { readFileSync } from 'node:fs';
import { GROUPS } from './cli/command-table/commands.ts';
import { ROTATE_ADMIN_TOKEN } from './cli/command-table/local-commands.ts';
import { processContext } from './cli/context.ts';
import { addCommand, addCommands, newProgram } from './cli/program.ts';
import type { RunStoreTask } from './cli/store-program.ts';
import { programFile } from './lib/program-files.ts';

const { version } = JSON.parse(readFileSync(programFile('package.json'), 'utf8')) as {
  version: string;
};

const context = processContext(version);
const program = newProgram(context);
const finish = (code: number): void => {
  process.exitCode = code;
};

const serveCommand = program.command('serve').description('Serve the API.');
// Imported only for this command: the others are clients and start faster without the server's modules.
if (process.argv.includes('serve')) {
  const { addServeFlags } = await import('./config/load-options.ts');
  addServeFlags(serveCommand)
    .showHelpAfterError("See 'clusterpass serve --help' for usage.")
    // A usage error exits with 2, like an invalid option.
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .action(async (flags: Record<string, unknown>) => {
      const { serve } = await import('./server/serve.ts');
      process.exitCode = await serve(flags, version);
    });
}

const storeCommand = program.command('store').description(GROUPS.store ?? '');
if (process.argv.includes('store')) {
  const { addStoreCommands } = await import('./cli/store-program.ts');
  const run: RunStoreTask = async (...task) => (await import('./server/store-command.ts')).runStoreCommand(...task);
  addStoreCommands(storeCommand, context, run, finish);
}

const adminTokenCommand = program.command('admin-token').description(GROUPS['admin-token'] ?? '');
if (process.argv.includes('admin-token')) {
  const { addDataDirFlags } = await import('./config/load-options.ts');
  const rotate = addDataDirFlags(addCommand(adminTokenCommand, ROTATE_ADMIN_TOKEN));
  rotate.action(async (flags: Record<string, unknown>) => {
    const { runAdminTokenRotate } = await import('./server/admin-token-command.ts');
    process.exitCode = await runAdminTokenRotate(flags);
  });
}

addCommands(program, process.argv.slice(2), context, finish);

await program.parseAsync();
