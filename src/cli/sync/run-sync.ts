import { parseDuration } from '../../config/duration.ts';
import { realTiming, reconnectMs } from '../../lib/backoff.ts';
import { terminalSafe } from '../../lib/text.ts';
import { Informer, type InformerOptions } from '../../sync/informer.ts';
import { type DesiredState, Reconciler, type ReconcilerOptions } from '../../sync/reconciler.ts';
import { Reporter } from '../../sync/reporter.ts';
import type { SyncMetrics } from '../../sync/sync-metrics.ts';
import { Wakeup } from '../../sync/wakeup.ts';
import { CliError, type Context, type DryRun, dryRunOf, type Invocation, noteOf } from '../command.ts';
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
export function syncFlags(invocation: Invocation): SyncFlags {
  const dryRun = dryRunOf(invocation);
  const isOnce = invocation.is('once');
  if (dryRun !== 'none' && !isOnce) throw new CliError('--dry-run needs --once');
  const [maxDelete, pruneWindow] = [invocation.number('maxDelete'), invocation.value('pruneWindow')];
  return { prune: invocation.is('prune'), maxDelete, pruneWindow, isOnce, dryRun };
}

type Side = 'SourceConnected' | 'TargetConnected';

/** The two sides, once they can be read. */
export interface Sides extends Pick<ReconcilerOptions, 'target' | 'ownership' | 'keyOf'> {
  readonly sources: readonly Informer[];
  readonly targets: readonly Informer[];
  /** What the sources want. Called when all of them were read. */
  readonly desired: () => DesiredState | Promise<DesiredState>;
}

/** What the sides are made with. */
interface OpenParts {
  /** An informer of one side. Its connections are in the condition of that side. */
  readonly informer: (side: Side, options: Omit<InformerOptions, 'timing' | 'onChange'>) => Informer;
  readonly signal: AbortSignal;
}

export interface SyncCommand {
  readonly resource: string;
  readonly flags: SyncFlags;
  /** Asks the cluster, e.g. a hub, for its API versions and makes the sides. */
  open(parts: OpenParts): Promise<Sides>;
  /** The side of that cluster. The other one is Clusterpass. */
  readonly clusterSide: Side;
}

/** Makes the informers. The condition of a side with several connections is true while all are open. */
function informerFactory(reporter: Reporter, onChange: () => void): OpenParts['informer'] {
  const problems = { SourceConnected: new Map<string, Error>(), TargetConnected: new Map<string, Error>() };
  return (side, options) =>
    new Informer({
      ...{ ...options, timing: realTiming, onChange },
      onConnection: (problem) => {
        options.onConnection?.(problem);
        if (problem === undefined) problems[side].delete(options.path);
        else problems[side].set(options.path, problem);
        const [first] = problems[side].values();
        reporter.setCondition(side, first === undefined, first?.message ?? '');
      },
    });
}

export async function runSync(context: Context, invocation: Invocation, command: SyncCommand): Promise<number> {
  const { flags } = command;
  const pruneWindowMs = parseDuration(flags.pruneWindow);
  if (pruneWindowMs === undefined) {
    throw new CliError(`--prune-window: ${JSON.stringify(flags.pruneWindow)} is not a duration such as 10m or 1h30m`);
  }
  // Not for the connector, which has a reporter without them.
  const metrics = (await import('../../sync/sync-metrics.ts')).createSyncMetrics();
  const reporter = reporterFor(context, command, { note: noteOf(invocation), metrics });
  if (flags.isOnce) {
    const informer = informerFactory(reporter, () => {});
    const sides = await command.open({ informer, signal: new AbortController().signal });
    await onAll(sides, (each) => each.list());
    await reconcilerFor(sides, { flags, reporter, pruneWindowMs }).reconcile();
    return reporter.isSynced ? 0 : 1;
  }
  const stopped = context.stopped();
  const close = await serveStatus(context, invocation, reporter, metrics);
  try {
    await keepInStep(command, { reporter, pruneWindowMs }, stopped);
    return 0;
  } finally {
    close?.();
  }
}

export function reporterFor(
  { out, err, now }: Context,
  { resource, flags }: SyncCommand,
  more: { readonly note: string; readonly metrics?: SyncMetrics },
): Reporter {
  const line =
    (output: Context['out']) =>
    (text: string): void =>
      output.write(`${terminalSafe(text)}\n`);
  return new Reporter({ resource, pruneWindow: flags.pruneWindow, out: line(out), err: line(err), now, ...more });
}

interface LoopParts {
  readonly reporter: Reporter;
  readonly pruneWindowMs: number;
}

/** Keeps the two sides in step until the signal is aborted. */
export async function keepInStep(command: SyncCommand, parts: LoopParts, stopped: AbortSignal): Promise<void> {
  const { reporter } = parts;
  const failed = new AbortController();
  const signal = AbortSignal.any([stopped, failed.signal]);
  const wakeup = new Wakeup();
  const informer = informerFactory(reporter, wakeup.set);
  const sides = await openWithRetries(command, reporter, { informer, signal });
  if (sides === undefined) return;
  const reconciler = reconcilerFor(sides, { flags: command.flags, ...parts });
  // Rejects for an error that a retry does not fix.
  const running = [onAll(sides, (each) => each.run(signal)), reconciler.run(signal, wakeup)];
  try {
    await Promise.all(running);
  } finally {
    failed.abort();
    await Promise.allSettled(running);
  }
}

const onAll = (sides: Sides, act: (each: Informer) => Promise<void>): Promise<unknown> =>
  Promise.all([...sides.sources, ...sides.targets].map(act));

function reconcilerFor(
  { sources, targets, desired, target, ownership, keyOf }: Sides,
  { flags, reporter, pruneWindowMs }: LoopParts & { readonly flags: SyncFlags },
): Reconciler {
  const areSynced = (informers: readonly Informer[]): boolean => informers.every(({ isSynced }) => isSynced);
  return new Reconciler({
    ...{ target, ownership, reporter },
    read: async () => (areSynced(sources) ? desired() : undefined),
    isTargetSynced: () => areSynced(targets),
    ...(keyOf === undefined ? {} : { keyOf }),
    prune: flags.prune,
    maxDelete: flags.maxDelete,
    pruneWindowMs,
    countsAlone: flags.isOnce,
    planOnly: flags.dryRun === 'client',
    timing: realTiming,
  });
}

/** The cluster may be down when this starts. Undefined: stopped before it answered. */
async function openWithRetries(command: SyncCommand, reporter: Reporter, parts: OpenParts): Promise<Sides | undefined> {
  const { signal } = parts;
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      return await command.open(parts);
    } catch (error) {
      if (signal.aborted) break;
      if (error instanceof CliError) throw error;
      reporter.setCondition(command.clusterSide, false, (error as Error).message);
      await realTiming.pause(reconnectMs(failures, realTiming.random), signal);
    }
  }
  return undefined;
}
