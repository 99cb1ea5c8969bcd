import type { ApiObject, Kind, ObjectKey } from '../api/kind.ts';

/**
 * What get, list and watch read: a watch cache of stored objects, or a projection of one. Projections alone have the
 * optional methods.
 */

type Labels = Readonly<Record<string, string>> | undefined;

/** `whole`: for a caller who sees more than the public view. Kinds without a public view are always whole. */
export type ObjectView = 'public' | 'whole';

export interface ReadableObject extends ObjectKey {
  readonly kind: Kind;
  readonly key: string;
  readonly revision: number;
  readonly labels: Labels;
  /** The labels that permissions depend on: those of the stored object. */
  readonly ruleLabels: Labels;
  isExpired(now: number): boolean;
  /** The value of a selectable field; `""` when it is not set. */
  field(label: string): string;
  /** The same content with another resourceVersion, for the event of a deletion (V-13). */
  withRevision(revision: number): ReadableObject;
  shown(view: ObjectView, clientAddress: string): ApiObject;
  json(view: ObjectView, clientAddress: string): Uint8Array;
  /** Whether a client at this address sees the same but for resourceVersion. Versions of stored objects differ. */
  showsSameAs(other: ReadableObject, clientAddress: string): boolean;
}

export interface ReadableEvent<E extends ReadableObject = ReadableObject> {
  readonly revision: number;
  readonly before: E | undefined;
  readonly after: E | undefined;
}

/** The objects of one kind at one revision; see `Snapshot`. */
export interface ReadableState<E extends ReadableObject = ReadableObject> {
  readonly indexed: boolean;
  /** Whether the index finds every entry that has this label. Default: if there is one. */
  indexesLabel?(label: string): boolean;
  get(key: string): E | undefined;
  scan(prefix: string, after?: string): Generator<E>;
  /** Faster than a scan. Absent where every entry has to be made. */
  collect?(into: E[], prefix: string, after: string | undefined, limit: number): void;
  count?(prefix: string, after?: string): number;
  /**
   * Appends the entries of this name below the prefix, which ends where names begin. Default: the one whose key is
   * prefix and name.
   */
  collectNamed?(into: E[], prefix: string, name: string): void;
  withLabel(label: string, value: string): Generator<E>;
  collectLabel(into: E[], label: string, value: string): void;
  copy(): ReadableState<E>;
}

/** The current objects of one kind and their recent history; see `WatchCache`. */
export interface ReadableCache {
  readonly current: ReadableState;
  readonly snapshot: ReadableState;
  readonly windowStart: number;
  get(key: string): ReadableObject | undefined;
  at(revision: number): ReadableState | undefined;
  eventsAfter(revision: number): readonly ReadableEvent[] | undefined;
  /**
   * The revision after which a client continues that was last sent an event of this revision. Default: the same
   * revision.
   */
  resumeAfter?(revision: number, prefix: string): number;
  pin(): void;
}
