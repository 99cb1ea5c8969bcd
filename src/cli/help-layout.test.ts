import { Command } from 'commander';
import { expect, it } from 'vitest';
import { HELP_LAYOUT } from './help-layout.ts';

it('serve, whose options are read only when it runs, is listed with options', () => {
  const program = new Command('clusterpass').configureHelp(HELP_LAYOUT);
  program.command('serve').description('Serve the API.');
  program.command('servers').description('List the servers.');
  program.command('exec').description('Run a command.').argument('<COMMAND...>').option('--as <account>');
  const help = program.helpInformation();
  expect(help).toMatch(/^ {2}serve \[options\] +Serve the API\.$/m);
  expect(help).toMatch(/^ {2}servers +List the servers\.$/m);
  expect(help).toMatch(/^ {2}exec \[options\] <COMMAND\.\.\.> +Run a command\.$/m);
});
