import type { Invocation } from './command.ts';

export type DryRun = 'none' | 'client' | 'server';

/** `client`: the command sends no change. `server`: the server checks the change and does not persist it. */
export const dryRunOf = (invocation: Invocation): DryRun => invocation.value('dryRun') as DryRun;

export const isDryRun = (invocation: Invocation): boolean => dryRunOf(invocation) === 'server';

/** The query of a write. */
export const writeQuery = (invocation: Invocation) => ({
  fieldManager: 'clusterpass',
  ...(isDryRun(invocation) ? { dryRun: 'All' } : {}),
});

/** The suffix of a message about a write. */
export const noteOf = (invocation: Invocation): string => dryRunNote[dryRunOf(invocation)];

const dryRunNote: Readonly<Record<DryRun, string>> = {
  none: '',
  client: ' (dry run)',
  server: ' (server dry run)',
};
