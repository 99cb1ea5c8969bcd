/**
 * The storage contract: what every engine promises. It has etcd's shape: ordered keys, one revision for the whole
 * store, compare-and-swap, reads in the past, and a watch that misses no change. Values are bytes.
 *
 * Keys are strings compared by their UTF-8 bytes. Prefixes end in `/`, so a list of `/registry/a/` never contains
 * `/registry/ab/...`; an engine refuses other prefixes.
 *
 * test/conformance/ holds one test for each promise below, and every engine runs it.
 */

/**
 * A point in the history of the whole store. Revisions only grow, and none is used twice, not even after a crash. The
 * first is at least 1. There may be gaps: etcd counts the writes of its other users too.
 */
export type Revision = number;

/** Exists while an import fills the store. A server refuses to open such a store. */
export const IMPORT_KEY = '/internal/import';
/** Held by the leader. */
export const LEADER_KEY = '/internal/leader';
/** The wall-clock time last stored; detects a clock that was set back on engines without members (SQLite). */
export const TIME_KEY = '/internal/time';
/** Keys that belong to one store and are not exported. */
export const ENGINE_KEYS: readonly string[] = [IMPORT_KEY, LEADER_KEY, TIME_KEY];

export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  /** The revision of the last write to this key. */
  readonly modRevision: Revision;
  /** The revision of the write that created the key. A key that is deleted and created again gets a new one. */
  readonly createRevision: Revision;
}

/** One change of one key. Each write is one change, so a revision identifies at most one change. */
export type Change = PutChange | DeleteChange;

interface PutChange extends KeyValue {
  readonly type: 'put';
}

interface DeleteChange {
  readonly type: 'delete';
  readonly key: string;
  readonly modRevision: Revision;
}

/** The condition on a key under which a write happens. */
export type Expectation =
  /** The key does not exist. */
  | { readonly absent: true }
  /** The key was last written at this revision. */
  | { readonly modRevision: Revision }
  /** The key was created at this revision and has not been deleted since. */
  | { readonly createRevision: Revision };

export interface Write {
  readonly key: string;
  /** The new value, or null to delete the key. */
  readonly value: Uint8Array | null;
  /** The condition on the key itself. It is required: there are no blind writes. */
  readonly expect: Expectation;
  /** Conditions on other keys at the same instant, e.g. that the namespace still exists. */
  readonly guards?: readonly Guard[];
}

/**
 * The condition of a write on a key that it does not change. With `empty`, `key` is a prefix, and no key under it
 * exists.
 */
export interface Guard {
  readonly key: string;
  readonly expect: Expectation | { readonly empty: true };
}

export type WriteResult =
  | { readonly ok: true; readonly revision: Revision }
  | {
      readonly ok: false;
      /** The key whose expectation did not hold: the write's own key or that of one of its guards. */
      readonly key: string;
      /** The current state of that key, if it exists; of a prefix that must be empty, its first key. */
      readonly current: KeyValue | undefined;
      readonly revision: Revision;
    };

export interface ListRequest {
  readonly prefix: string;
  /** Read at this revision. Default: the current one. */
  readonly revision?: Revision;
  /** Return only keys strictly greater than this one. */
  readonly after?: string;
  readonly limit?: number;
}

export interface ListResult {
  readonly items: readonly KeyValue[];
  /** The revision that was read: the requested one, or the current one. */
  readonly revision: Revision;
  /** True when `limit` cut the result short. */
  readonly more: boolean;
}

export interface WatchBatch {
  readonly changes: readonly Change[];
  /** All changes up to this revision have been delivered, with this batch. It may advance without changes. */
  readonly revision: Revision;
}

export interface Store {
  /**
   * Linearizable: sees every write acknowledged before the call.
   * With a revision: reads at that revision. Fails with `compacted` if it is gone, `future` if it has not happened.
   */
  get(key: string, revision?: Revision): Promise<KeyValue | undefined>;

  /** Items in key order, all read at the one revision that is returned. Fails as `get` does. */
  list(request: ListRequest): Promise<ListResult>;

  /**
   * Atomic compare-and-swap: of writes that expect the same state of a key, exactly one succeeds.
   * When it resolves with `ok`, the write survives `kill -9` and loss of power, and every later read sees it.
   * When it rejects with `unknown-outcome`, the write may have happened, or may still happen. When it rejects with any
   * other code, it has not happened and will not.
   */
  write(write: Write): Promise<WriteResult>;

  /**
   * Every change under the prefix with a revision greater than `after`: in order of revision, each once,
   * none left out, across any number of batches. Fails with `compacted` when changes that it would have to deliver
   * are gone. Ends without an error when the signal aborts or the store is closed.
   */
  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<WatchBatch>;

  /** The current revision; linearizable. Cheap, because every consistent read asks for it. */
  revision(): Promise<Revision>;
  /**
   * The current revision without a round trip. Only an engine that no other process writes to has this method; it
   * returns undefined while it cannot be sure.
   */
  knownRevision?(): Revision | undefined;

  /**
   * Removes the states before `revision`: reads and watches from an older one fail with `compacted`, current values
   * stay, and the space is freed. Idempotent. Blocks writers for a few milliseconds at a time.
   */
  compact(revision: Revision): Promise<void>;

  /** Finishes the calls that were made, then releases the engine. Later calls fail with `closed`. */
  close(): Promise<void>;
}

export type StoreReads = Pick<Store, 'list' | 'revision'>;

export type StorageErrorCode =
  /** The requested revision has been compacted. */
  | 'compacted'
  /** The requested revision has not happened yet. */
  | 'future'
  /** Another process holds the store. */
  | 'in-use'
  /** The engine cannot answer now (disk full, read-only, lost connection); trying again may help. */
  | 'unavailable'
  /** A write was sent, and the engine gave no answer that says whether it has happened. */
  | 'unknown-outcome'
  /**
   * The engine answers, and does not accept our credentials or does not allow the call; its certificate cannot be
   * verified; or other users can change its files, or this process cannot. An operator has to act.
   */
  | 'refused'
  /** The stored data is damaged, or was written by a newer release. */
  | 'unreadable'
  /** Another store has taken the place of this one, e.g. by an import. It has to be opened again. */
  | 'replaced'
  /** The value is larger than the engine takes. Trying again does not help. */
  | 'too-large'
  | 'closed';

export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The error of a read at a revision that is gone. */
export const compactedError = (requested: Revision): StorageError =>
  new StorageError('compacted', `revision ${requested} has been compacted`);

export const futureError = (requested: Revision): StorageError =>
  new StorageError('future', `revision ${requested} has not happened yet`);

/**
 * A leader that dies is replaced within ten seconds: the lease expires, etcd notices within half a second, and the
 * others campaign once a second.
 */
export const LEASE_MS = 6_000;
export const CAMPAIGN_MS = 1_000;
/** Leadership ends this long before the lease expires: a clock may be slow, and started work takes a while. */
export const MARGIN_MS = 1_000;

/**
 * Leader election among the processes that share a store. The leader alone compacts, probes clusters and rotates keys.
 * At most one leads at a time as far as clocks are right; for writes, the fence is exact.
 */
export interface Leadership {
  /** True while this process leads. Call it before each piece of work. */
  leads(): boolean;
  /**
   * A guard for writes that only the leader may make: such a write fails once another process leads. Undefined when
   * this process does not lead, or when no other process can.
   */
  fence(): Guard | undefined;
  /** Resigns, so that another process can lead at once. */
  close(): Promise<void>;
}

/** Of a store that only one process can have open. */
export const soleLeadership: Leadership = {
  leads: () => true,
  fence: () => undefined,
  close: async () => {},
};

/** The same, but without a leader while `holds` returns false: for work that depends on a correct clock. */
export const leadsWhile = (
  leadership: Pick<Leadership, 'leads' | 'fence'>,
  holds: () => boolean,
): Pick<Leadership, 'leads' | 'fence'> => ({
  leads: () => leadership.leads() && holds(),
  fence: () => (holds() ? leadership.fence() : undefined),
});

/** The guards of a write that only the leader may make. Throws when this process does not lead. */
export function leaderGuards(leadership: Pick<Leadership, 'leads' | 'fence'>): readonly Guard[] {
  const fence = leadership.fence();
  if (fence !== undefined) return [fence];
  if (leadership.leads()) return [];
  throw leadLost();
}

/** For a process that led before: its fence failed, or its lease has expired. */
export const leadLost = (): StorageError => new StorageError('unavailable', 'this replica no longer leads');
