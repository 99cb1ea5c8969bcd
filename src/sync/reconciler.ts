import type { ApiObject } from '../api/kind.ts';
import { ConnectionError } from '../client/errors.ts';
import { reconnectMs, type Timing } from '../lib/backoff.ts';
import { inParallel } from '../lib/promises.ts';
import { TokenBuckets } from '../lib/token-buckets.ts';
import { type Desired, keyOf, type Plan, type PlanInput, planChanges, type Update } from './plan.ts';
import type { Reporter, SourceProblem, WriteResult } from './reporter.ts';
import type { Wakeup } from './wakeup.ts';

export interface DesiredState {
  readonly objects: ReadonlyMap<string, Desired>;
  /** Keys of objects that exist at the source and cannot be translated now. */
  readonly kept: ReadonlySet<string>;
  /** Objects of the source that are not at the target, or differ there, by their name at the source. */
  readonly problems: ReadonlyMap<string, SourceProblem>;
}

/** Where a plan is written to. */
export interface SyncTarget {
  readonly objects: ReadonlyMap<string, ApiObject>;
  readonly fieldManager: string;
  /** Objects with a lower number are created before the others, and deleted after them. Default: 0. */
  order?(object: ApiObject): number;
  create(desired: Desired): Promise<void>;
  update(update: Update): Promise<void>;
  remove(actual: ApiObject): Promise<void>;
}

export interface ReconcilerOptions extends Pick<PlanInput, 'keyOf' | 'ownership' | 'prune' | 'maxDelete'> {
  /** The state of the source; undefined while it was not read completely. */
  readonly read: () => Promise<DesiredState | undefined>;
  readonly target: SyncTarget;
  /** Whether the target was read completely. */
  readonly isTargetSynced: () => boolean;
  /** Objects that disappear one after the other within this time count together for `maxDelete`. */
  readonly pruneWindowMs: number;
  /**
   * Whether this run counts alone: a person started it, with `--once`. Otherwise the program may have been restarted,
   * and what it deleted before is not known: it deletes nothing within `pruneWindowMs` of its start.
   */
  readonly countsAlone: boolean;
  /** Reports the plan and writes nothing. */
  readonly planOnly: boolean;
  readonly reporter: Reporter;
  readonly timing: Timing;
}

interface ReconcileResult {
  readonly plan: Plan;
  readonly failed: number;
  /** Milliseconds until a reconciliation without an event can do more; 0: none is needed. */
  readonly retryInMs: number;
}

/** Requests in flight. */
const CONCURRENCY = 16;
/** CP-87, CP-26: one write for each object in 30 seconds, with a burst of 10. */
const WRITE_INTERVAL_SECONDS = 30;
const WRITE_BURST = 10;
/** Changes that arrive together are planned together. */
const SETTLE_MS = 100;
const RESYNC_MS = 60_000;

/**
 * Compares source and target and writes the difference, level-triggered: `reconcile` depends on the two states only,
 * not on the events that led to them, so the next call repairs what a lost event or a crash in the middle left.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #keyOf: (object: ApiObject) => string;
  readonly #writes: TokenBuckets;
  readonly #startedAt: number;
  #removedAt: number[] = [];

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#keyOf = options.keyOf ?? keyOf;
    this.#startedAt = options.timing.now();
    this.#writes = new TokenBuckets({
      perSecond: 1 / WRITE_INTERVAL_SECONDS,
      burst: WRITE_BURST,
      now: options.timing.now,
    });
  }

  /**
   * Undefined while a side was not read completely, because half a state would look like many removals, and while a
   * side is lost, because an old state says nothing about the present one.
   */
  async reconcile(): Promise<ReconcileResult | undefined> {
    const { target, ownership, prune, maxDelete, reporter } = this.#options;
    const isReadable = reporter.isConnected && this.#options.isTargetSynced();
    const state = isReadable ? await this.#options.read() : undefined;
    if (state === undefined) return undefined;
    const removals = this.#recentRemovals();
    const plan = planChanges({
      desired: state.objects,
      kept: state.kept,
      actual: target.objects,
      ownership,
      fieldManager: target.fieldManager,
      prune,
      maxDelete,
      removedRecently: removals.count ?? maxDelete,
      keyOf: this.#keyOf,
    });
    const written = [...plan.creates.map(({ object }) => object), ...plan.updates.map(({ actual }) => actual)];
    reporter.planned(plan, state.problems, {
      pending: new Set([...written, ...plan.removals].map(this.#keyOf)),
      maxDelete,
      removedRecently: removals.count,
    });
    const result = await this.#execute(plan);
    reporter.reconciled(plan, result);
    const heldMs = plan.held.length > 0 ? Math.max(0, removals.windowEndsInMs) : 0;
    return { plan, failed: result.failed, retryInMs: result.delayedMs || heldMs };
  }

  /** How many were deleted within the window; undefined while what was deleted before the start is not known. */
  #recentRemovals(): { readonly count: number | undefined; readonly windowEndsInMs: number } {
    const { pruneWindowMs, countsAlone, timing } = this.#options;
    const now = timing.now();
    this.#removedAt = this.#removedAt.filter((time) => now - time < pruneWindowMs);
    const unknownMs = countsAlone ? 0 : this.#startedAt + pruneWindowMs - now;
    if (unknownMs > 0) return { count: undefined, windowEndsInMs: unknownMs };
    const [oldest = now - pruneWindowMs] = this.#removedAt;
    return { count: this.#removedAt.length, windowEndsInMs: oldest + pruneWindowMs - now };
  }

  async run(signal: AbortSignal, wakeup: Wakeup): Promise<void> {
    const { timing, reporter } = this.#options;
    let failures = 0;
    let waitMs = 0;
    while (!signal.aborted) {
      // A failed write is not repeated early by changes of other objects: those would come every few milliseconds.
      if (failures > 0) await timing.pause(waitMs, signal);
      else await wakeup.wait(waitMs, signal);
      await timing.pause(SETTLE_MS, signal);
      if (signal.aborted) return;
      wakeup.reset();
      try {
        const result = await this.reconcile();
        failures = result !== undefined && result.failed > 0 ? failures + 1 : 0;
        waitMs = Math.min(RESYNC_MS, result?.retryInMs || RESYNC_MS);
      } catch (error) {
        failures++;
        reporter.failed(error as Error);
      }
      if (failures > 0) waitMs = reconnectMs(failures, timing.random);
    }
  }

  async #execute(plan: Plan): Promise<WriteResult> {
    const { target, reporter, planOnly } = this.#options;
    const task = (operation: Task['operation'], object: ApiObject, write: Task['write']): Task => ({
      ...{ operation, object, write },
    });
    const tasks: Task[] = [
      ...plan.creates.map((desired) => task('create', desired.object, () => target.create(desired))),
      ...plan.updates.map((update) => task('update', update.actual, () => target.update(update))),
      ...plan.removals.map((object) => task('delete', object, () => target.remove(object))),
    ];
    const counts = { failed: 0, delayedMs: 0 };
    let isDown = false;
    const execute = async (task: Task): Promise<void> => {
      const { object, operation } = task;
      const key = this.#keyOf(object);
      if (planOnly) return reporter.wrote(operation, key);
      const waitMs = this.#writes.waitMs(key);
      if (waitMs > 0) {
        counts.delayedMs = counts.delayedMs === 0 ? waitMs : Math.min(counts.delayedMs, waitMs);
        return;
      }
      // The others would fail, too. The next reconciliation writes them.
      if (isDown) {
        counts.failed++;
        return;
      }
      this.#writes.take(key);
      try {
        await task.write();
        if (operation === 'delete') this.#removedAt.push(this.#options.timing.now());
        reporter.wrote(operation, key);
      } catch (error) {
        counts.failed++;
        const isLost = error instanceof ConnectionError;
        isDown ||= isLost;
        // The answer was lost, perhaps not the request.
        if (isLost && operation === 'delete') this.#removedAt.push(this.#options.timing.now());
        reporter.refused(operation, key, error as Error);
      }
    };
    for (const group of inOrder(tasks, target)) await inParallel(group, CONCURRENCY, execute);
    return counts;
  }
}

/** Tasks that may run at the same time. Deletions are last, in the opposite order. */
function inOrder(tasks: readonly Task[], target: SyncTarget): Task[][] {
  const rank = ({ operation, object }: Task): number => {
    const order = target.order?.(object) ?? 0;
    return operation === 'delete' ? LAST - order : order;
  };
  return [...Map.groupBy(tasks, rank)].sort(([a], [b]) => a - b).map(([, group]) => group);
}

/** Above every order. */
const LAST = 1_000;

interface Task {
  readonly operation: 'create' | 'update' | 'delete';
  readonly object: ApiObject;
  readonly write: () => Promise<void>;
}
