import { parseDuration } from '../../config/duration.ts';
import { realTiming, reconnectMs } from '../../lib/backoff.ts';
import { terminalSafe } from '../../lib/text.ts';
import { Reconciler, type ReconcilerOptions } from '../../sync/reconciler.ts';
import { Reporter } from '../../sync/reporter.ts';
import { Wakeup } from '../../sync/wakeup.ts';
import { CliError, type Context, type Invocation } from '../command.ts';
import { type DryRun, dryRunNote, dryRunOf } from '../dry-run.ts';
import { serveStatus } from './status-server.ts';

/** What the commands that keep two sides in step share: flags, one reconciliation or the loop, and the exit code. */

export interface SyncFlags {
  readonly prune: boolean;
  readonly maxDelete: number;
  /** As it was given. */
  readonly pruneWindow: string;
  readonly isOnce: boolean;
  readonly dryRun: DryRun;
}

/** The flags of both directions of `clusterpass sync`. */
export const syncFlags = (invocation: Invocation): SyncFlags => ({
  prune: invocation.is('prune'),
  maxDelete: invocation.number('maxDelete', '--max-delete'),
  pruneWindow: invocation.value('pruneWindow'),
  ...onceFlags(invocation),
});

export function onceFlags(invocation: Invocation, supported?: readonly DryRun[]): Pick<SyncFlags, 'isOnce' | 'dryRun'> {
  const dryRun = dryRunOf(invocation, supported);
  const isOnce = invocation.is('once');
  if (dryRun !== 'none' && !isOnce) throw new CliError('--dry-run needs --once');
  return { isOnce, dryRun };
}

/** The two sides, once they can be read. */
export interface Sides extends Pick<ReconcilerOptions, 'read' | 'target' | 'isTargetSynced' | 'ownership' | 'keyOf'> {
  /** Reads both sides once. */
  list(): Promise<void>;
  /** Follows both sides until the signal is aborted. Rejects for an error that a retry does not fix. */
  follow(signal: AbortSignal): Promise<void>;
}

export interface SyncCommand {
  readonly resource: string;
  readonly flags: SyncFlags;
  /** Asks the cluster, e.g. a hub, for its API versions and makes the sides. */
  open(parts: { readonly reporter: Reporter; readonly wake: () => void; readonly signal: AbortSignal }): Promise<Sides>;
  /** The side of that cluster. The other one is Clusterpass. */
  readonly clusterSide: 'SourceConnected' | 'TargetConnected';
}

/** While the sides were opened, a request to Clusterpass failed. Other failures there are the cluster's. */
export class ServerRequestError extends Error {
  override readonly name = 'ServerRequestError';

  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

export async function runSync(context: Context, invocation: Invocation, command: SyncCommand): Promise<number> {
  const { flags } = command;
  const pruneWindowMs = parseDuration(flags.pruneWindow);
  if (pruneWindowMs === undefined) {
    throw new CliError(`--prune-window: ${JSON.stringify(flags.pruneWindow)} is not a duration such as 10m or 1h30m`);
  }
  const line =
    (output: Context['out']) =>
    (text: string): void =>
      output.write(`${terminalSafe(text)}\n`);
  const reporter = new Reporter({
    resource: command.resource,
    note: dryRunNote[flags.dryRun],
    pruneWindow: flags.pruneWindow,
    out: line(context.out),
    err: line(context.err),
    now: context.now,
  });
  const reconcilerFor = ({ read, target, isTargetSynced, ownership, keyOf }: Sides): Reconciler =>
    new Reconciler({
      ...{ read, target, isTargetSynced, ownership, reporter },
      ...(keyOf === undefined ? {} : { keyOf }),
      prune: flags.prune,
      maxDelete: flags.maxDelete,
      pruneWindowMs,
      countsAlone: flags.isOnce,
      planOnly: flags.dryRun === 'client',
      timing: realTiming,
    });
  const wakeup = new Wakeup();
  if (flags.isOnce) {
    const sides = await openOnce(command, { reporter, wake: wakeup.set, signal: new AbortController().signal });
    await sides.list();
    await reconcilerFor(sides).reconcile();
    return reporter.isSynced ? 0 : 1;
  }
  const stopped = context.stopped();
  const failed = new AbortController();
  const signal = AbortSignal.any([stopped, failed.signal]);
  const close = await serveStatus(context, invocation, reporter);
  try {
    const sides = await openWithRetries(command, { reporter, wake: wakeup.set, signal });
    if (sides === undefined) return 0;
    const running = [sides.follow(signal), reconcilerFor(sides).run(signal, wakeup)];
    try {
      await Promise.all(running);
    } finally {
      failed.abort();
      await Promise.allSettled(running);
    }
    return 0;
  } finally {
    close?.();
  }
}

async function openOnce(command: SyncCommand, parts: Parameters<SyncCommand['open']>[0]): Promise<Sides> {
  try {
    return await command.open(parts);
  } catch (error) {
    throw error instanceof ServerRequestError ? error.cause : error;
  }
}

/** The cluster may be down when this starts. Undefined: stopped before it answered. */
async function openWithRetries(
  command: SyncCommand,
  parts: Parameters<SyncCommand['open']>[0],
): Promise<Sides | undefined> {
  const { signal, reporter } = parts;
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      return await command.open(parts);
    } catch (error) {
      if (signal.aborted) break;
      if (error instanceof CliError) throw error;
      const serverSide = command.clusterSide === 'SourceConnected' ? 'TargetConnected' : 'SourceConnected';
      const side = error instanceof ServerRequestError ? serverSide : command.clusterSide;
      reporter.setCondition(side, false, (error as Error).message);
      await realTiming.pause(reconnectMs(failures, realTiming.random), signal);
    }
  }
  return undefined;
}
