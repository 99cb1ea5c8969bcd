import { realTiming, reconnectMs } from '../lib/backoff.ts';
import { Informer, type InformerOptions } from './informer.ts';
import { type DesiredState, Reconciler, type ReconcilerOptions } from './reconciler.ts';
import type { Reporter } from './reporter.ts';
import { Wakeup } from './wakeup.ts';

/** What all that keep two sides in step share: the connections, one reconciliation, and the loop. */

export type Side = 'SourceConnected' | 'TargetConnected';

/** The two sides, once they can be read. */
export interface Sides extends Pick<ReconcilerOptions, 'target' | 'ownership' | 'keyOf'> {
  readonly sources: readonly Informer[];
  readonly targets: readonly Informer[];
  /** What the sources want. Called when all of them were read. */
  readonly desired: () => DesiredState | Promise<DesiredState>;
}

/** What the sides are made with. */
export interface OpenParts {
  /** An informer of one side. Its connections are in the condition of that side. */
  readonly informer: (side: Side, options: Omit<InformerOptions, 'timing' | 'onChange'>) => Informer;
  readonly signal: AbortSignal;
}

export interface InStepParts
  extends Pick<ReconcilerOptions, 'reporter' | 'prune' | 'maxDelete' | 'pruneWindowMs' | 'planOnly'> {
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

/** One reconciliation. */
export async function bringInStep(parts: InStepParts): Promise<void> {
  const informer = informerFactory(parts.reporter, () => {});
  const sides = await parts.open({ informer, signal: new AbortController().signal });
  await onAll(sides, (each) => each.list());
  await reconcilerFor(sides, parts, true).reconcile();
}

/** Keeps the two sides in step until the signal is aborted. Rejects for an error that a retry does not fix. */
export async function keepInStep(parts: InStepParts, stopped: AbortSignal): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([stopped, failed.signal]);
  const wakeup = new Wakeup();
  const informer = informerFactory(parts.reporter, wakeup.set);
  const sides = await openWithRetries(parts, { informer, signal });
  if (sides === undefined) return;
  const running = [onAll(sides, (each) => each.run(signal)), reconcilerFor(sides, parts, false).run(signal, wakeup)];
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
  { sources, targets, desired, ...sides }: Sides,
  parts: InStepParts,
  isOnce: boolean,
): Reconciler {
  const areSynced = (informers: readonly Informer[]): boolean => informers.every(({ isSynced }) => isSynced);
  return new Reconciler({
    ...{ ...parts, ...sides, countsAlone: isOnce, timing: realTiming },
    read: async () => (areSynced(sources) ? desired() : undefined),
    isTargetSynced: () => areSynced(targets),
  });
}

/** The cluster may be down when this starts. Undefined: stopped before it answered. */
async function openWithRetries({ open, clusterSide, reporter }: InStepParts, parts: OpenParts) {
  const { signal } = parts;
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      return await open(parts);
    } catch (error) {
      if (signal.aborted) break;
      reporter.setCondition(clusterSide, false, (error as Error).message);
      await realTiming.pause(reconnectMs(failures, realTiming.random), signal);
    }
  }
  return undefined;
}
