/**
 * What every storage engine promises. The shape is etcd's: ordered keys, one revision for the whole
 * store, compare-and-swap, reads in the past, and a watch that misses nothing.
 *
 * Keys are strings compared by their UTF-8 bytes. Prefixes end in `/`, so that a caller who asks for
 * `/registry/a/` can never be shown `/registry/ab/...`; an engine refuses a prefix that does not.
 *
 * test/conformance/ holds one test for each promise below, and every engine runs it.
 */

/**
 * A point in the history of the whole store. It only grows, and is never used twice, not even after a crash. The first
 * is at least 1. There may be gaps: an engine may share its counter with others, who write where nobody sees it.
 */
export type Revision = number;

/** There while a store is being filled from another one: it is no store to serve from yet. */
export const IMPORT_KEY = '/internal/import';
/** Held by the replica that leads. */
export const LEADER_KEY = '/internal/leader';
/** How far the leader has decided to compact. */
export const COMPACTION_KEY = '/internal/compaction';
/** What time it last was, where nobody but the process that has the store open could say so. */
export const TIME_KEY = '/internal/time';
/** What belongs to one store and does not move to another. */
export const ENGINE_KEYS: readonly string[] = [IMPORT_KEY, LEADER_KEY, COMPACTION_KEY, TIME_KEY];

export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  /** The revision of the last write to this key. */
  readonly modRevision: Revision;
  /** The revision of the write that made this key exist; it changes when a key is deleted and made anew. */
  readonly createRevision: Revision;
}

/** One change of one key. Each write is one change, so a revision names exactly one of these. */
export type Change = PutChange | DeleteChange;

export interface PutChange extends KeyValue {
  readonly type: 'put';
}

export interface DeleteChange {
  readonly type: 'delete';
  readonly key: string;
  readonly modRevision: Revision;
}

/** What must be true of a key for a write to happen. */
export type Expectation =
  /** The key does not exist. */
  | { readonly absent: true }
  /** The key's last write was this one. */
  | { readonly modRevision: Revision }
  /** The key exists and is still the one made by this write, whatever was written to it since. */
  | { readonly createRevision: Revision };

export interface Write {
  readonly key: string;
  /** The new value, or null to delete the key. */
  readonly value: Uint8Array | null;
  /** What must be true of the key itself. A write without expectation does not exist: nobody overwrites blindly. */
  readonly expect: Expectation;
  /** What must be true of other keys at the same instant, e.g. that the namespace still exists. */
  readonly guards?: readonly Guard[];
}

/** What a write demands of a key that it does not change. */
export interface Guard {
  readonly key: string;
  readonly expect: Expectation;
}

export type WriteResult =
  | { readonly ok: true; readonly revision: Revision }
  | {
      readonly ok: false;
      /** The key whose expectation did not hold: the write's own key or one of its guards. */
      readonly key: string;
      /** That key as it is now, if it exists. */
      readonly current: KeyValue | undefined;
      readonly revision: Revision;
    };

export interface ListRequest {
  readonly prefix: string;
  /** Read as of this revision; without it, as of now. */
  readonly revision?: Revision;
  /** Return only keys strictly greater than this one. */
  readonly after?: string;
  readonly limit?: number;
}

export interface ListResult {
  readonly items: readonly KeyValue[];
  /** The revision the result is true at: the one asked for, or the store's when it was read. */
  readonly revision: Revision;
  /** True when `limit` cut the result short. */
  readonly more: boolean;
}

export interface WatchBatch {
  readonly changes: readonly Change[];
  /** Everything up to this revision has been delivered, including by this batch; may advance without changes. */
  readonly revision: Revision;
}

export interface Store {
  /**
   * Linearizable: sees every write acknowledged before the call.
   * With a revision: as of that revision; `compacted` if it is gone, `future` if it has not happened.
   */
  get(key: string, revision?: Revision): Promise<KeyValue | undefined>;

  /** Items in key order, all true at the one revision that is returned. Fails as `get` does. */
  list(request: ListRequest): Promise<ListResult>;

  /**
   * All or nothing, and one winner: of writes that expect the same state of a key, exactly one succeeds.
   * When it resolves with `ok`, the write survives `kill -9` and loss of power, and every later read sees it.
   * When it rejects, the write may or may not have happened.
   */
  write(write: Write): Promise<WriteResult>;

  /**
   * Every change under the prefix with a revision greater than `after`: in order of revision, each once,
   * none left out, across any number of batches. Ends with an error `compacted` when changes it would
   * have to deliver are gone, and quietly when the signal aborts or the store is closed.
   */
  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<WatchBatch>;

  /** The store's revision now; linearizable. Cheap, because every consistent read asks for it. */
  revision(): Promise<Revision>;
  /**
   * The same, of a store that this process alone writes to: it knows without asking anybody. Undefined while it can not be
   * sure; a store that others write to does not have this.
   */
  knownRevision?(): Revision | undefined;

  /** The newest revision that can no longer be read; 0 when nothing has been compacted. */
  compactedRevision(): Promise<Revision>;

  /**
   * Forget the states before `revision`: reads and watches from an older one fail with `compacted`,
   * current values stay, and the space is given back. Idempotent; never blocks writers for long.
   */
  compact(revision: Revision): Promise<void>;

  /** Finishes acknowledged work, releases the engine. Later calls fail with `closed`. */
  close(): Promise<void>;
}

export type StorageErrorCode =
  /** The revision asked for is older than what is kept. */
  | 'compacted'
  /** The revision asked for has not happened yet. */
  | 'future'
  /** Another process holds the store. */
  | 'in-use'
  /** The engine cannot answer now (disk full, read-only, lost connection); trying again may help. */
  | 'unavailable'
  /** What is stored is damaged, or was written by a newer release. */
  | 'unreadable'
  /** The value is larger than the engine takes. Trying again does not help. */
  | 'too-large'
  | 'closed';

export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: StorageErrorCode;
  /** For `compacted`: the newest revision that is gone. For `future`: the store's revision now. */
  readonly revision: Revision | undefined;

  constructor(code: StorageErrorCode, message: string, options: { revision?: Revision; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.revision = options.revision;
  }
}
