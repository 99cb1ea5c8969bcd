import { type Client, type Cluster, type ClusterEvent, isStatus } from '../../../src/client/index.ts';
import { errorMessage } from '../error-message.ts';
import { type ClusterRow, rowOf } from './cluster-row.ts';
import { FilteredRows, type FilterResult } from './filtered-rows.ts';
import type { FleetFilter } from './fleet-filter.ts';
import { FleetTotals } from './fleet-totals.ts';
import { browserScheduler, type RenderScheduler } from './render-scheduler.ts';

/** A change of a condition that happened while the page was open. */
export interface Transition {
  readonly type: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** A new object for each render: useSyncExternalStore compares snapshots by reference. */
export interface FleetSnapshot {
  /** The number of clusters. */
  readonly size: number;
  /** Increases when a cluster is added or removed. */
  readonly membership: number;
  /** Whether the watch has delivered all existing clusters. */
  readonly synced: boolean;
  readonly connection: Connection;
}

export type Connection =
  /** Also while no page needs the clusters. */
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly retryAt: number; readonly reason: string }
  /** The browser has no network. The watch may not have noticed yet. */
  | { readonly kind: 'offline' }
  /** The watch ended with an error that a retry does not fix. */
  | { readonly kind: 'failed'; readonly reason: string };

/** The shortest time between two renders. */
const MIN_RENDER_INTERVAL_MS = 100;
/** The interval is at least this many times the duration of a render, which leaves time for scrolling and typing. */
const INTERVAL_PER_RENDER_TIME = 5;
/** A new permission must be visible within a second. */
const MAX_RENDER_INTERVAL_MS = 500;
/** How long events are processed before the browser gets time: half a frame. */
const SLICE_MS = 8;
const MAX_TRANSITIONS = 50;

/**
 * The clusters that the user can see, updated by one watch. Events are stored as they arrive. Counting, sorting and
 * rendering happen in animation frames, for all events since the last one together.
 */
export class FleetStore {
  readonly #client: Pick<Client, 'watchClusters'>;
  readonly #scheduler: RenderScheduler;
  readonly #rows = new Map<string, ClusterRow>();
  /** The clusters that changed since the last render, as that render showed them. */
  readonly #changed = new Map<string, ClusterRow | undefined>();
  readonly #filtered = new FilteredRows();
  readonly #transitions = new Map<string, readonly Transition[]>();
  readonly #listeners = new Set<() => void>();
  readonly totals = new FleetTotals();
  #snapshot: FleetSnapshot = { size: 0, membership: 0, synced: false, connection: { kind: 'connecting' } };
  #connection: Connection = { kind: 'connecting' };
  #synced = false;
  #renderedAt = 0;
  #renderIntervalMs = MIN_RENDER_INTERVAL_MS;
  #cancelRender: (() => void) | undefined;

  constructor(client: Pick<Client, 'watchClusters'>, scheduler: RenderScheduler = browserScheduler) {
    this.#client = client;
    this.#scheduler = scheduler;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): FleetSnapshot => this.#snapshot;

  /** The rows as of the latest snapshot. */
  select(filter: FleetFilter): FilterResult {
    return this.#filtered.select(filter);
  }

  find(name: string): ClusterRow | undefined {
    return this.#rows.get(name);
  }

  /** At most `limit` names that contain `part`, in the order of the watch. */
  names(limit: number, part = ''): string[] {
    return [...this.#rows.keys()].filter((name) => name.includes(part)).slice(0, limit);
  }

  transitionsOf(name: string): readonly Transition[] {
    return this.#transitions.get(name) ?? NO_TRANSITIONS;
  }

  /** Runs until the signal is aborted or the watch fails for good. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      const events = this.#client.watchClusters({
        signal,
        onConnected: () => this.#setConnection({ kind: 'live' }),
        onSynced: () => {
          this.#synced = true;
          this.#render();
        },
        onInterruption: (cause, delayMs) => {
          // A watch that timed out, or whose token expired, reconnects at once. The user need not know.
          if (cause === undefined || isStatus((cause as Error).cause, 401)) return;
          const retryAt = this.#scheduler.now() + delayMs;
          this.#setConnection({ kind: 'lost', retryAt, reason: errorMessage(cause) });
        },
      });
      let sliceEnd = 0;
      for await (const event of events) {
        // Buffered events arrive in microtasks, which starve input and rendering.
        if (this.#scheduler.now() >= sliceEnd) {
          await this.#scheduler.yieldToBrowser();
          sliceEnd = this.#scheduler.now() + SLICE_MS;
        }
        this.#apply(event);
      }
    } catch (error) {
      if (!signal.aborted) this.#setConnection({ kind: 'failed', reason: errorMessage(error) });
    } finally {
      this.#cancelRender?.();
      this.#cancelRender = undefined;
    }
  }

  #apply({ type, cluster }: ClusterEvent): void {
    const { name } = cluster.metadata;
    const before = this.#rows.get(name);
    if (!this.#changed.has(name)) this.#changed.set(name, before);
    if (type === 'DELETED') {
      this.#rows.delete(name);
      this.#transitions.delete(name);
    } else {
      if (before !== undefined) this.#recordTransitions(before.cluster, cluster);
      this.#rows.set(name, rowOf(cluster));
    }
    const delayMs = this.#renderedAt + this.#renderIntervalMs - this.#scheduler.now();
    this.#cancelRender ??= this.#scheduler.schedule(() => this.#render(), delayMs);
  }

  #recordTransitions(before: Cluster, after: Cluster): void {
    const old = new Map(before.status?.conditions?.map((condition) => [condition.type, condition.status]));
    for (const { type = '', status = '', reason = '', lastTransitionTime } of after.status?.conditions ?? []) {
      const from = old.get(type);
      if (from === undefined || from === status) continue;
      const time = Date.parse(lastTransitionTime ?? '');
      const transition = { type, from, to: status, reason, at: Number.isNaN(time) ? this.#scheduler.now() : time };
      this.#transitions.set(
        after.metadata.name,
        [...this.transitionsOf(after.metadata.name), transition].slice(-MAX_TRANSITIONS),
      );
    }
  }

  #setConnection(connection: Connection): void {
    this.#connection = connection;
    this.#render();
  }

  #render(): void {
    this.#cancelRender?.();
    this.#cancelRender = undefined;
    this.#renderedAt = this.#scheduler.now();
    const changes = [...this.#changed].map(([name, before]) => ({ before, after: this.#rows.get(name) }));
    this.#changed.clear();
    this.#filtered.change(changes);
    this.totals.change(changes);
    const membershipChanged = changes.some(({ before, after }) => (before === undefined) !== (after === undefined));
    this.#snapshot = {
      size: this.#rows.size,
      membership: this.#snapshot.membership + (membershipChanged ? 1 : 0),
      synced: this.#synced,
      connection: this.#connection,
    };
    for (const listener of this.#listeners) listener();
    void this.#measureRender();
  }

  /** The browser does layout and paint before it resumes this function, so they count as part of the render. */
  async #measureRender(): Promise<void> {
    const start = this.#scheduler.now();
    await this.#scheduler.yieldToBrowser();
    const duration = this.#scheduler.now() - start;
    this.#renderIntervalMs = Math.min(
      MAX_RENDER_INTERVAL_MS,
      Math.max(MIN_RENDER_INTERVAL_MS, INTERVAL_PER_RENDER_TIME * duration),
    );
  }
}

/** One constant, because useSyncExternalStore compares by reference. */
const NO_TRANSITIONS: readonly Transition[] = [];
