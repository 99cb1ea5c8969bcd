import type { Client, Cluster, ClusterEvent } from '../../../src/client/index.ts';
import { type ClusterRow, rowOf } from './cluster-row.ts';

/** A change of a condition that was seen while the page was open. */
export interface Transition {
  readonly type: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface FleetSnapshot {
  readonly rows: readonly ClusterRow[];
  /** Whether the whole fleet has been told; until then `rows` is a part of it. */
  readonly synced: boolean;
  readonly connection: Connection;
}

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly since: number; readonly retryAt: number; readonly reason: string }
  | { readonly kind: 'ended'; readonly reason: string };

/** However many events arrive, the page is drawn at most so often. */
const FLUSH_MS = 100;
const MOST_TRANSITIONS = 50;

/** The clusters that the person may see, kept up to date by one watch, for every part of the page. */
export class FleetStore {
  readonly #client: Client;
  readonly #now: () => number;
  readonly #rows = new Map<string, ClusterRow>();
  readonly #transitions = new Map<string, Transition[]>();
  readonly #listeners = new Set<() => void>();
  #snapshot: FleetSnapshot = { rows: [], synced: false, connection: { kind: 'connecting' } };
  #connection: Connection = { kind: 'connecting' };
  #synced = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: Client, now: () => number = Date.now) {
    this.#client = client;
    this.#now = now;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): FleetSnapshot => this.#snapshot;

  find(name: string): ClusterRow | undefined {
    return this.#rows.get(name);
  }

  transitionsOf(name: string): readonly Transition[] {
    return this.#transitions.get(name) ?? [];
  }

  /** Until the signal is aborted, or the server refuses for good. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      const events = this.#client.watchClusters({
        signal,
        onConnected: () => this.#connect({ kind: 'live' }),
        onSynced: () => {
          this.#synced = true;
          this.#flush();
        },
        onInterruption: (cause, delayMs) => {
          // A stream that just ended comes back at once as a rule; that is nothing to alarm anyone with.
          if (cause === undefined) return;
          const since = this.#connection.kind === 'lost' ? this.#connection.since : this.#now();
          this.#connect({ kind: 'lost', since, retryAt: this.#now() + delayMs, reason: reasonOf(cause) });
        },
      });
      for await (const event of events) this.#take(event);
    } catch (error) {
      if (!signal.aborted) this.#connect({ kind: 'ended', reason: reasonOf(error) });
    } finally {
      clearTimeout(this.#timer);
    }
  }

  #take({ type, cluster }: ClusterEvent): void {
    const { name } = cluster.metadata;
    if (type === 'DELETED') {
      this.#rows.delete(name);
      this.#transitions.delete(name);
    } else {
      const before = this.#rows.get(name);
      if (before !== undefined) this.#note(before.cluster, cluster);
      this.#rows.set(name, rowOf(cluster, this.#synced));
    }
    this.#flushSoon();
  }

  #note(before: Cluster, after: Cluster): void {
    const old = new Map(before.status?.conditions?.map((condition) => [condition.type, condition.status]));
    for (const { type = '', status = '', reason = '', lastTransitionTime } of after.status?.conditions ?? []) {
      const from = old.get(type);
      if (from === undefined || from === status) continue;
      const told = Date.parse(lastTransitionTime ?? '');
      const seen = this.#transitions.get(after.metadata.name) ?? [];
      seen.push({ type, from, to: status, reason, at: Number.isNaN(told) ? this.#now() : told });
      this.#transitions.set(after.metadata.name, seen.slice(-MOST_TRANSITIONS));
    }
  }

  #connect(connection: Connection): void {
    this.#connection = connection;
    this.#flush();
  }

  #flushSoon(): void {
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#snapshot = { rows: [...this.#rows.values()], synced: this.#synced, connection: this.#connection };
    for (const listener of this.#listeners) listener();
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
