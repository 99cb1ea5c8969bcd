import { quantity } from '../lib/text.ts';
import type { Plan } from './plan.ts';
import type { SyncMetrics } from './sync-metrics.ts';

export interface WriteResult {
  readonly failed: number;
  /** Milliseconds until an object that was written too often may be written again; 0 without one. */
  readonly delayedMs: number;
}

/** Why an object of the source is not at the target, or differs there. */
export interface SourceProblem {
  readonly problem: string;
  /**
   * `failed`: it should be at the target and cannot be. `skipped`: the source has nothing to synchronize, or not yet.
   * `synced`: it is at the target, and differs from the source.
   */
  readonly state: 'failed' | 'skipped' | 'synced';
}

export type ConditionType = 'SourceConnected' | 'TargetConnected' | 'PruneAllowed' | 'Synced';

interface ReporterOptions {
  /** The resource in messages, e.g. `clusterprofile.multicluster.x-k8s.io`. */
  readonly resource: string;
  /** Appended to changes, e.g. ` (dry run)`. */
  readonly note: string;
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  /** `--prune-window`, e.g. `10m`. */
  readonly pruneWindow: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Absent where nothing reads them: their library takes 8 MB of memory. */
  readonly metrics?: SyncMetrics | undefined;
}

const SIDES: readonly ConditionType[] = ['SourceConnected', 'TargetConnected'];
const PAST = { create: 'created', update: 'updated', delete: 'deleted' } as const;

/**
 * What a synchronization tells: a line for each change, a line for a problem when it begins and when it changes, and
 * metrics. A loop that meets the same problem every minute does not repeat it.
 */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #conditions = new Map<ConditionType, { readonly isTrue: boolean; readonly message: string }>();
  #problems: ReadonlyMap<string, string> = new Map();
  #failedAtSource = 0;
  /** By object. Bound: the objects that the last plan writes. */
  readonly #refusals = new Map<string, string>();

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** Whether everything is as it should be. */
  get isSynced(): boolean {
    return this.#conditions.get('Synced')?.isTrue === true;
  }

  /** Whether no side is known to be lost. The state of a lost side is an old one. */
  get isConnected(): boolean {
    return this.#lostSides().length === 0;
  }

  #lostSides(): ConditionType[] {
    return SIDES.filter((side) => this.#conditions.get(side)?.isTrue === false);
  }

  setCondition(type: ConditionType, isTrue: boolean, message = ''): void {
    const before = this.#conditions.get(type);
    this.#conditions.set(type, { isTrue, message });
    this.#options.metrics?.condition.set({ type }, isTrue ? 1 : 0);
    if (before?.isTrue === isTrue && before.message === message) return;
    this.#options.err(`${type}=${isTrue ? 'True' : 'False'}${message === '' ? '' : `: ${message}`}`);
    // It is true again after the next reconciliation: what changed during the interruption is not known before.
    if (!this.isConnected && this.isSynced)
      this.setCondition('Synced', false, this.#lostSides().map(isFalse).join(', '));
  }

  planned(
    plan: Plan,
    problems: ReadonlyMap<string, SourceProblem>,
    {
      pending,
      maxDelete,
      removedRecently,
    }: {
      /** The objects that the plan writes. */
      readonly pending: ReadonlySet<string>;
      readonly maxDelete: number;
      /** Undefined if it is not known. */
      readonly removedRecently: number | undefined;
    },
  ): void {
    const { resource } = this.#options;
    // A later object of the same name has problems that were not told yet.
    for (const key of this.#refusals.keys()) if (!pending.has(key)) this.#refusals.delete(key);
    const all = new Map([...problems].map(([key, { problem }]) => [key, problem]));
    for (const key of plan.taken) all.set(key, `${resource}/${key} exists and is not of this synchronization`);
    for (const [key, text] of all) if (this.#problems.get(key) !== text) this.#options.err(`${key}: ${text}`);
    this.#problems = all;
    this.#options.metrics?.objects.set({ state: 'pending' }, pending.size);
    this.#options.metrics?.objects.set({ state: 'taken' }, plan.taken.length);
    this.#options.metrics?.objects.set({ state: 'held' }, plan.held.length);
    const states = Map.groupBy(problems.values(), ({ state }) => state);
    this.#failedAtSource = states.get('failed')?.length ?? 0;
    this.#options.metrics?.objects.set({ state: 'skipped' }, states.get('skipped')?.length ?? 0);
    this.#options.metrics?.objects.set({ state: 'failed' }, this.#failedAtSource);
    const window = this.#options.pruneWindow;
    const recent = removedRecently === 0 ? '' : `, after ${removedRecently} in the last ${window}`;
    const why =
      removedRecently === undefined
        ? `: nothing is deleted in the first ${window}, because what was deleted before the start is not known`
        : `${recent}, more than --max-delete ${maxDelete}: nothing is deleted`;
    const isHeld = plan.held.length > 0;
    this.setCondition(
      'PruneAllowed',
      !isHeld,
      isHeld ? `${quantity(plan.held.length, 'object')} would be deleted${why}` : '',
    );
  }

  wrote(operation: keyof typeof PAST, key: string): void {
    this.#options.metrics?.writes.inc({ operation, result: 'success' });
    this.#refusals.delete(key);
    this.#options.out(`${this.#options.resource}/${key} ${PAST[operation]}${this.#options.note}`);
  }

  refused(operation: keyof typeof PAST, key: string, error: Error): void {
    this.#options.metrics?.writes.inc({ operation, result: 'error' });
    const text = `cannot ${operation}: ${error.message}`;
    if (this.#refusals.get(key) !== text) this.#options.err(`${key}: ${text}`);
    this.#refusals.set(key, text);
  }

  reconciled(plan: Plan, { failed, delayedMs }: WriteResult): void {
    const written = plan.creates.length + plan.updates.length - failed;
    this.#options.metrics?.objects.set({ state: 'synced' }, plan.unchanged + Math.max(0, written));
    const waiting = [
      ...this.#lostSides().map(isFalse),
      ...(this.#failedAtSource > 0
        ? [`${quantity(this.#failedAtSource, 'object')} of the source cannot be synchronized`]
        : []),
      ...(failed > 0 ? [`${quantity(failed, 'write')} failed`] : []),
      ...(plan.taken.length > 0 ? [`${quantity(plan.taken.length, 'name')} taken`] : []),
      ...(plan.held.length > 0 ? [`${quantity(plan.held.length, 'deletion')} held back`] : []),
      ...(delayedMs > 0 ? ['objects that changed often wait'] : []),
    ];
    this.setCondition('Synced', waiting.length === 0, waiting.join(', '));
    if (waiting.length === 0) this.#options.metrics?.lastSync.set(Math.floor(this.#options.now() / 1000));
  }

  /** A reconciliation that could not be made. */
  failed(error: Error): void {
    this.setCondition('Synced', false, error.message);
  }
}

const isFalse = (type: ConditionType): string => `${type} is false`;
