import { CliError, type Invocation } from './command.ts';

export type DryRun = 'none' | 'client' | 'server';

/** `client`: looks at what is there and sends no change. `server`: sends it, to be checked and not done. */
export function dryRunOf(invocation: Invocation, offered: readonly DryRun[] = ['none', 'server', 'client']): DryRun {
  const value = invocation.text('dryRun') ?? 'none';
  const found = offered.find((each) => each === value);
  if (found === undefined) {
    throw new CliError(
      `--dry-run: ${JSON.stringify(value)} must be one of ${offered.map((each) => `"${each}"`).join(', ')}`,
    );
  }
  return found;
}

/** For commands where `client` would do nothing at all. */
export const isDryRun = (invocation: Invocation): boolean => dryRunOf(invocation, ['none', 'server']) === 'server';

/** What follows the line about an object. */
export const dryRunNote: Readonly<Record<DryRun, string>> = {
  none: '',
  client: ' (dry run)',
  server: ' (server dry run)',
};
