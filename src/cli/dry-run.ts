import { CliError, type Invocation } from './command.ts';

/** `--dry-run server`: kubectl's `client` is not offered, because it would check nothing. */
export function isDryRun(invocation: Invocation): boolean {
  const value = invocation.text('dryRun') ?? 'none';
  if (value !== 'server' && value !== 'none') {
    throw new CliError(`--dry-run: ${JSON.stringify(value)} is neither "server" nor "none"`);
  }
  return value === 'server';
}
