import { type Client, type Cluster, type ClusterEvent, isStatus } from '../../../src/client/index.ts';
import { type ClusterRow, rowOf } from './cluster-row.ts';
import { browserDrawing, type Drawing } from './drawing.ts';
import { FleetSelection, type Selected } from './fleet-selection.ts';
import { FleetTotals } from './fleet-totals.ts';
import type { FleetFilter } from './select-rows.ts';

/** A change of a condition that was seen while the page was open. */
export interface Transition {
  readonly type: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What is drawn. Another object whenever anything has changed; what is asked of the store is as of then. */
export interface FleetSnapshot {
  /** How many clusters there are. */
  readonly size: number;
  /** Another number whenever a cluster has come or gone. */
  readonly membership: number;
  /** Whether the whole fleet has been told; until then there is a part of it. */
  readonly synced: boolean;
  readonly connection: Connection;
}

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly since: number; readonly retryAt: number; readonly reason: string }
  /** The browser says that it has no network; whether the stream knows already or not. */
  | { readonly kind: 'offline' }
  | { readonly kind: 'ended'; readonly reason: string };

/** However many events arrive, the page is drawn at most so often. */
const DRAW_MS = 100;
/** Where drawing takes long, that long is left alone so many times before the next: people scroll and type meanwhile. */
const REST = 5;
/** A permission is to show within a second. */
const LONGEST_REST_MS = 500;
/** So long events are taken without a pause: half a frame. */
const SLICE_MS = 8;
const MOST_TRANSITIONS = 50;

/**
 * The clusters that the person may see, kept up to date by one watch, for every part of the page. Events are taken as
 * they come; what is counted, ordered and drawn follows in frames, all events since the last one together.
 */
export class FleetStore {
  readonly #client: Client;
  readonly #drawing: Drawing;
  readonly #rows = new Map<string, ClusterRow>();
  /** Each cluster that changed since the last drawing, as it was in that. */
  readonly #changed = new Map<string, ClusterRow | undefined>();
  readonly #selection = new FleetSelection();
  readonly #transitions = new Map<string, readonly Transition[]>();
  readonly #listeners = new Set<() => void>();
  readonly totals = new FleetTotals();
  #snapshot: FleetSnapshot = { size: 0, membership: 0, synced: false, connection: { kind: 'connecting' } };
  #connection: Connection = { kind: 'connecting' };
  #synced = false;
  #drawnAt = 0;
  #restMs = DRAW_MS;
  #callOff: (() => void) | undefined;

  constructor(client: Client, drawing: Drawing = browserDrawing) {
    this.#client = client;
    this.#drawing = drawing;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): FleetSnapshot => this.#snapshot;

  /** As it was last drawn. */
  select(filter: FleetFilter): Selected {
    return this.#selection.select(filter);
  }

  find(name: string): ClusterRow | undefined {
    return this.#rows.get(name);
  }

  /** The first so many, as they were told. */
  names(most: number): string[] {
    const names: string[] = [];
    for (const name of this.#rows.keys()) if (names.push(name) >= most) break;
    return names;
  }

  transitionsOf(name: string): readonly Transition[] {
    return this.#transitions.get(name) ?? NONE;
  }

  /** Until the signal is aborted, or the server refuses for good. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      const events = this.#client.watchClusters({
        signal,
        onConnected: () => this.#connect({ kind: 'live' }),
        onSynced: () => {
          this.#synced = true;
          this.#draw();
        },
        onInterruption: (cause, delayMs) => {
          // A stream that just ended, or whose token has, comes back at once as a rule; that is nothing to alarm anyone with.
          if (cause === undefined || isStatus((cause as Error).cause, 401)) return;
          const since = this.#connection.kind === 'lost' ? this.#connection.since : this.#drawing.now();
          this.#connect({ kind: 'lost', since, retryAt: this.#drawing.now() + delayMs, reason: reasonOf(cause) });
        },
      });
      let until = 0;
      for await (const event of events) {
        // While more of the stream is there than was taken, nothing else gets its turn.
        if (this.#drawing.now() >= until) {
          await this.#drawing.breathe();
          until = this.#drawing.now() + SLICE_MS;
        }
        this.#take(event);
      }
    } catch (error) {
      if (!signal.aborted) this.#connect({ kind: 'ended', reason: reasonOf(error) });
    } finally {
      this.#callOff?.();
      this.#callOff = undefined;
    }
  }

  #take({ type, cluster }: ClusterEvent): void {
    const { name } = cluster.metadata;
    const before = this.#rows.get(name);
    if (!this.#changed.has(name)) this.#changed.set(name, before);
    if (type === 'DELETED') {
      this.#rows.delete(name);
      this.#transitions.delete(name);
    } else {
      if (before !== undefined) this.#note(before.cluster, cluster);
      this.#rows.set(name, rowOf(cluster, this.#synced));
    }
    this.#callOff ??= this.#drawing.soon(() => this.#draw(), this.#drawnAt + this.#restMs - this.#drawing.now());
  }

  #note(before: Cluster, after: Cluster): void {
    const old = new Map(before.status?.conditions?.map((condition) => [condition.type, condition.status]));
    for (const { type = '', status = '', reason = '', lastTransitionTime } of after.status?.conditions ?? []) {
      const from = old.get(type);
      if (from === undefined || from === status) continue;
      const told = Date.parse(lastTransitionTime ?? '');
      const seen = { type, from, to: status, reason, at: Number.isNaN(told) ? this.#drawing.now() : told };
      this.#transitions.set(
        after.metadata.name,
        [...this.transitionsOf(after.metadata.name), seen].slice(-MOST_TRANSITIONS),
      );
    }
  }

  #connect(connection: Connection): void {
    this.#connection = connection;
    this.#draw();
  }

  #draw(): void {
    this.#callOff?.();
    this.#callOff = undefined;
    this.#drawnAt = this.#drawing.now();
    const changes = [...this.#changed].map(([name, before]) => ({ before, after: this.#rows.get(name) }));
    this.#changed.clear();
    this.#selection.change(changes);
    this.totals.change(changes);
    const moved = changes.some(({ before, after }) => (before === undefined) !== (after === undefined));
    this.#snapshot = {
      size: this.#rows.size,
      membership: this.#snapshot.membership + (moved ? 1 : 0),
      synced: this.#synced,
      connection: this.#connection,
    };
    for (const listener of this.#listeners) listener();
    void this.#measure();
  }

  /** What the browser makes of a drawing, layout and paint, comes before its next task. */
  async #measure(): Promise<void> {
    const from = this.#drawing.now();
    await this.#drawing.breathe();
    const took = this.#drawing.now() - from;
    this.#restMs = Math.min(LONGEST_REST_MS, Math.max(DRAW_MS, REST * took));
  }
}

const NONE: readonly Transition[] = [];
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
