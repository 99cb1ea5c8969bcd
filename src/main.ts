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

addCommands(program, context, (code) => {
  process.exitCode = code;
});

await program.parseAsync();
