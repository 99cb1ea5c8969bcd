import { readFileSync } from 'node:fs';
import { GROUPS } from './cli/command-table/commands.ts';
import { ROTATE_ADMIN_TOKEN } from './cli/command-table/local-commands.ts';
import { STORE_COMMANDS } from './cli/command-table/store-commands.ts';
import { processContext } from './cli/context.ts';
import { describeError } from './cli/describe-error.ts';
import { addCommand, addCommands, newProgram } from './cli/program.ts';
import { programFile } from './lib/program-files.ts';

const { version } = JSON.parse(readFileSync(programFile('package.json'), 'utf8')) as {
  version: string;
};

const context = processContext(version);
const program = newProgram(context);

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
  const { addStoreFlags } = await import('./config/load-options.ts');
  const { servedLists } = await import('./cli/served-lists.ts');
  for (const command of STORE_COMMANDS) {
    addStoreFlags(addCommand(storeCommand, command)).action(async (flags: Record<string, unknown>) => {
      const { runStoreCommand } = await import('./server/store-command.ts');
      process.exitCode = await runStoreCommand(command.task, flags, {
        listAt: (server, given) => servedLists(context, server, given),
        describeError: (error) => describeError(error)?.replace(/^error: /, ''),
      });
    });
  }
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

addCommands(program, context, (code) => {
  process.exitCode = code;
});

await program.parseAsync();
