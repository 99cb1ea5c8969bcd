import { readFileSync } from 'node:fs';
import { processContext } from './cli/context.ts';
import { addCommands, newProgram } from './cli/program.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const context = processContext(version);
const program = newProgram(context);

const serveCommand = program.command('serve').description('Serve the API.');
// Loaded only where it is asked for: the other commands are clients, and must not wait for a server's parts.
if (process.argv.includes('serve')) {
  const { addServeFlags } = await import('./config/load-options.ts');
  addServeFlags(serveCommand)
    .showHelpAfterError("See 'clusterpass serve --help' for usage.")
    // A command line that can not be understood is a wrong option like any other.
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .action(async (flags: Record<string, unknown>) => {
      const { serve } = await import('./serve.ts');
      process.exitCode = await serve(flags, version);
    });
}

const storeCommand = program
  .command('store')
  .description('Work on a store without a server: export and import a fleet, check that all is well.');
if (process.argv.includes('store')) {
  const { addStoreFlags } = await import('./config/load-options.ts');
  const declare = (task: 'export' | 'import' | 'check', summary: string) =>
    addStoreFlags(storeCommand.command(task).description(summary)).action(async (flags: Record<string, unknown>) => {
      const { runStoreCommand } = await import('./store-command.ts');
      process.exitCode = await runStoreCommand(task, flags);
    });
  declare('export', 'Write everything that is stored to a file.').option(
    '-f, --file <file>',
    'Where to (default: stdout).',
  );
  declare('import', 'Fill an empty store from a file.').option('-f, --file <file>', 'Where from (default: stdin).');
  declare('check', 'Read everything that is stored, and say what does not fit together.')
    .option('--server <url>', 'Also compare it with what this running server has in its caches.')
    .option('--token-file <file>', 'The token of an administrator of that server.');
}

addCommands(program, context, (code) => {
  process.exitCode = code;
});

await program.parseAsync();
