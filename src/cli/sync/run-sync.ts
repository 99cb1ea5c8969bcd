import { parseDuration } from '../../config/duration.ts';
import { terminalSafe } from '../../lib/text.ts';
import { bringInStep, type InStepParts, keepInStep } from '../../sync/keep-in-step.ts';
import { Reporter } from '../../sync/reporter.ts';
import { createSyncMetrics } from '../../sync/sync-metrics.ts';
import { CliError, type Context, type DryRun, dryRunOf, type Invocation, noteOf } from '../command.ts';
import { serveStatus } from './status-server.ts';

/** What both directions of `clusterpass sync` share: flags, one reconciliation or the loop, and the exit code. */

export interface SyncFlags {
  readonly prune: boolean;
  readonly maxDelete: number;
  /** As it was given. */
  readonly pruneWindow: string;
  readonly isOnce: boolean;
  readonly dryRun: DryRun;
}

export function syncFlags(invocation: Invocation): SyncFlags {
  const dryRun = dryRunOf(invocation);
  const isOnce = invocation.is('once');
  if (dryRun !== 'none' && !isOnce) throw new CliError('--dry-run needs --once');
  const [maxDelete, pruneWindow] = [invocation.number('maxDelete'), invocation.value('pruneWindow')];
  return { prune: invocation.is('prune'), maxDelete, pruneWindow, isOnce, dryRun };
}

interface SyncCommand extends Pick<InStepParts, 'open' | 'clusterSide'> {
  readonly resource: string;
  readonly flags: SyncFlags;
}

export async function runSync(
  context: Context,
  invocation: Invocation,
  { resource, flags, ...sides }: SyncCommand,
): Promise<number> {
  const { prune, maxDelete, pruneWindow, isOnce, dryRun } = flags;
  const pruneWindowMs = parseDuration(pruneWindow);
  if (pruneWindowMs === undefined) {
    throw new CliError(`--prune-window: ${JSON.stringify(pruneWindow)} is not a duration such as 10m or 1h30m`);
  }
  const metrics = createSyncMetrics();
  const line = (output: Context['out']) => (text: string) => output.write(`${terminalSafe(text)}\n`);
  const { out, err, now } = context;
  const note = noteOf(invocation);
  const reporter = new Reporter({ resource, pruneWindow, out: line(out), err: line(err), now, note, metrics });
  const parts = { ...sides, reporter, prune, maxDelete, pruneWindowMs, planOnly: dryRun === 'client' };
  if (isOnce) {
    await bringInStep(parts);
    return reporter.isSynced ? 0 : 1;
  }
  const stopped = context.stopped();
  const close = await serveStatus(context, invocation, reporter, metrics);
  try {
    await keepInStep(parts, stopped);
    return 0;
  } finally {
    close?.();
  }
}
