import { CliError, type Invocation } from './command.ts';

export type DryRun = 'none' | 'client' | 'server';

/** `client`: the command sends no change. `server`: the server checks the change and does not persist it. */
export function dryRunOf(invocation: Invocation, supported: readonly DryRun[] = ['none', 'server', 'client']): DryRun {
  const value = invocation.value('dryRun');
  const found = supported.find((each) => each === value);
  if (found === undefined) {
    throw new CliError(
      `--dry-run: ${JSON.stringify(value)} must be one of ${supported.map((each) => `"${each}"`).join(', ')}`,
    );
  }
  return found;
}

/** For commands without a client dry run. */
export const isDryRun = (invocation: Invocation): boolean => dryRunOf(invocation, ['none', 'server']) === 'server';

/** The suffix of a message about an object. */
export const dryRunNote: Readonly<Record<DryRun, string>> = {
  none: '',
  client: ' (dry run)',
  server: ' (server dry run)',
};
