import type { Caller } from '../../api/caller.ts';
import type { Kind } from '../../api/kind.ts';
import { collectionPrefix, kindPrefix } from '../../api/object-key.ts';
import { lastInTick } from '../../lib/event-loop.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ReflectorListener } from '../../storage/reflector.ts';
import type { CacheEvent } from '../../storage/watch-cache.ts';
import type { Representation } from '../representation.ts';
import type { Selection } from '../selection.ts';
import { frameFor } from './frames.ts';
import type { WatchView } from './replay.ts';
import { type Part, partsOf, pieceBytes } from './send-buffer.ts';
import type { ViewChange } from './view-change.ts';

/** A change of what callers may see: its first revision, and the last revision before the next event. */
export interface PolicyChange {
  readonly since: number;
  readonly revision: number;
  /** By the groups before and after: watchers of one group share the difference. */
  readonly differences: Map<string, ViewChange>;
}

/** What the broadcaster needs of an open watch; see `Watcher`. */
export interface Subscriber {
  readonly caller: Caller;
  readonly view: WatchView;
  readonly groupId: string;
  enqueue(parts: readonly Part[]): void;
  serve(): void;
  onBroadcasterProgress(): void;
  beforePolicyChange(): void;
  onPolicyChange(change: PolicyChange): void;
  checkAllowed(): boolean;
  checkCaller(): void;
  sendBookmark(): void;
  finish(): void;
  cut(): void;
}

/** Watchers who see the same: each event is looked at and serialized once for all of them. */
interface Group {
  readonly id: string;
  readonly selection: Selection;
  readonly representation: Representation;
  readonly watchers: Set<Subscriber>;
  frames: Buffer[];
}

export interface BroadcasterOptions {
  readonly clusters: Kind;
  /** True for kinds whose changes can change what callers may see. */
  readonly isPolicy: (kind: Kind) => boolean;
  readonly bookmarkIntervalMs: number;
  /** Calls back in another turn of the event loop. */
  readonly later?: (run: () => void) => void;
  /** Milliseconds on a monotonic clock. */
  readonly clock?: () => number;
}

/**
 * How long watchers are written to before other work has its turn: as long as that work just took. So requests wait for
 * little while they are few, and whoever makes changes without end does not leave those who watch behind.
 */
const SLICE_MS = { least: 1, most: 2 };

/** Far more than anyone is taken through one by one. */
const MAX_POLICY_REVISIONS = 1_000;

/**
 * Hands events to open watches. Permission changes take effect between the events where they happened. Watchers are
 * written to in rounds, some of them in each turn of the event loop: what has come since a watcher's last turn goes out
 * in one write, so the faster events come, the less each of them costs, and however many watch, nobody else waits long.
 */
export class Broadcaster implements ReflectorListener<StoredObject> {
  readonly #options: BroadcasterOptions;
  readonly #groups = new Map<Kind, Map<string, Group>>();
  /** Those that have events waiting to be rendered. */
  readonly #dirty = new Set<Group>();
  readonly #watchers = new Set<Subscriber>();
  /** Those that have not caught up. */
  readonly #behind = new Set<Subscriber>();
  /** Those that have something to be written, in the order of their turns. */
  readonly #due = new Set<Subscriber>();
  #serving = false;
  /** Since when other work has had the event loop. */
  #servedUntil = 0;
  /** Watchers by the storage keys that their caller's credential hangs on. */
  readonly #dependents = new Map<string, Set<Subscriber>>();
  readonly #bookmarks: NodeJS.Timeout;
  /** Revisions of changes to the rules, all that came after `#policyKnownFrom`. */
  #policyRevisions: number[] = [];
  #policyKnownFrom = 0;
  /** The first change to the rules that has not taken effect yet. */
  #policyChangedAt: number | undefined;
  #revision = 0;

  constructor(options: BroadcasterOptions) {
    this.#options = options;
    this.#bookmarks = setInterval(() => this.#sendBookmarks(), options.bookmarkIntervalMs);
    this.#bookmarks.unref();
  }

  /** How many watches are open. */
  get size(): number {
    return this.#watchers.size;
  }

  /** Everything up to here has been handed out. */
  get revision(): number {
    return this.#revision;
  }

  /** How much is given to each of those who watch at once. */
  get pieceBytes(): number {
    return pieceBytes(this.#watchers.size);
  }

  /** How many watchers have something waiting for their turn. */
  get due(): number {
    return this.#due.size;
  }

  open(watcher: Subscriber): void {
    this.#watchers.add(watcher);
    this.#behind.add(watcher);
    for (const key of watcher.caller.dependsOn) {
      const dependents = this.#dependents.get(key) ?? new Set();
      dependents.add(watcher);
      this.#dependents.set(key, dependents);
    }
  }

  closed(watcher: Subscriber): void {
    this.leave(watcher);
    this.#watchers.delete(watcher);
    this.#behind.delete(watcher);
    this.#due.delete(watcher);
    for (const key of watcher.caller.dependsOn) {
      const dependents = this.#dependents.get(key);
      dependents?.delete(watcher);
      if (dependents?.size === 0) this.#dependents.delete(key);
    }
  }

  /** From now on the watcher gets what its group gets. It must be at the hub's revision. */
  join(watcher: Subscriber): void {
    const { selection, representation } = watcher.view;
    const groups = this.#groups.get(representation.kind) ?? new Map<string, Group>();
    this.#groups.set(representation.kind, groups);
    const id = watcher.groupId;
    const group = groups.get(id) ?? { id, selection, representation, watchers: new Set(), frames: [] };
    groups.set(id, group);
    group.watchers.add(watcher);
    this.#behind.delete(watcher);
  }

  leave(watcher: Subscriber): void {
    const groups = this.#groups.get(watcher.view.representation.kind);
    const group = groups?.get(watcher.groupId);
    group?.watchers.delete(watcher);
    if (group?.watchers.size === 0) groups?.delete(watcher.groupId);
    this.#behind.add(watcher);
  }

  /** The watcher has something to write, and waits for its turn. */
  queue(watcher: Subscriber): void {
    this.#due.add(watcher);
    if (this.#serving) return;
    this.#serving = true;
    this.#servedUntil = this.#clock();
    (this.#options.later ?? lastInTick)(this.#serve);
  }

  readonly #clock = (): number => (this.#options.clock ?? (() => performance.now()))();

  /** Some of those that are due, and the rest in the next turn; nobody twice in one. */
  readonly #serve = (): void => {
    const begun = this.#clock();
    const end = begun + Math.min(Math.max(begun - this.#servedUntil, SLICE_MS.least), SLICE_MS.most);
    let left = this.#due.size;
    for (const watcher of this.#due) {
      this.#due.delete(watcher);
      watcher.serve();
      left -= 1;
      if (left === 0 || this.#clock() >= end) break;
    }
    this.#servedUntil = this.#clock();
    this.#serving = this.#due.size > 0;
    if (this.#serving) (this.#options.later ?? lastInTick)(this.#serve);
  };

  /** When the rules changed after one revision, up to another; undefined when that is too long ago. */
  policyChangesBetween(after: number, upTo: number): readonly number[] | undefined {
    if (after < this.#policyKnownFrom) return undefined;
    return this.#policyRevisions.filter((revision) => revision > after && revision <= upTo);
  }

  onEvent(event: CacheEvent<StoredObject>): void {
    const { before, after, revision } = event;
    const { kind, key } = after ?? before ?? {};
    if (kind === undefined || key === undefined) return;
    const isPolicy = this.#options.isPolicy(kind);
    // What the events before this one changed takes effect before it. Rules come in bunches: once for all of them,
    // unless somebody watches the rules, who may be losing the permission to.
    if (!isPolicy || (this.#groups.get(kind)?.size ?? 0) > 0) this.#settle(revision - 1);
    this.#checkDependents(key);
    // The four kinds of rules can be watched like any other.
    for (const group of this.#groups.get(kind)?.values() ?? []) {
      const frame = frameFor(group.selection, group.representation, event);
      if (frame === undefined) continue;
      group.frames.push(frame);
      this.#dirty.add(group);
    }
    if (isPolicy) this.#rememberPolicyChange(revision);
    else if (kind === this.#options.clusters && !sameLabels(before, after)) this.#checkInside(key);
  }

  onProgress(revision: number): void {
    this.#settle(revision);
    this.#flush();
    this.#revision = revision;
    for (const watcher of [...this.#behind]) watcher.onBroadcasterProgress();
  }

  /** The caches were filled anew: nobody can be told what happened in between, so everybody starts over. */
  onReset(revision: number): void {
    for (const watcher of [...this.#watchers]) watcher.cut();
    this.#policyChangedAt = undefined;
    this.#policyRevisions = [];
    this.#policyKnownFrom = revision;
    this.#revision = revision;
  }

  /** Credentials may have been revoked outside of the store, e.g. in the token file. */
  checkCallers(): void {
    for (const watcher of [...this.#watchers]) watcher.checkCaller();
  }

  /** Ends every watch cleanly. */
  shutDown(): void {
    clearInterval(this.#bookmarks);
    for (const watcher of [...this.#watchers]) watcher.finish();
  }

  /** Those whose credential hangs on this object are let go before they hear of anything after it. */
  #checkDependents(key: string): void {
    const dependents = this.#dependents.get(key);
    if (dependents === undefined) return;
    this.#flush();
    for (const watcher of [...dependents]) watcher.checkCaller();
  }

  /**
   * Bindings hold where a cluster's labels say so, also for what lives inside it. Watches of clusters need no look:
   * their rules are put to each cluster with the labels of the moment, and many clusters may change at once.
   */
  #checkInside(clusterKey: string): void {
    const name = clusterKey.slice(kindPrefix(this.#options.clusters).length);
    for (const watcher of this.#watchers) {
      const { selection, representation } = watcher.view;
      const { kind } = representation;
      if (!kind.inCluster || !selection.prefix.startsWith(collectionPrefix(kind, name, ''))) continue;
      this.#flush();
      watcher.checkAllowed();
    }
  }

  #rememberPolicyChange(revision: number): void {
    this.#policyChangedAt ??= revision;
    this.#policyRevisions.push(revision);
    // In bulk, as the caches do.
    const surplus = this.#policyRevisions.length - MAX_POLICY_REVISIONS;
    if (surplus < MAX_POLICY_REVISIONS / 4) return;
    this.#policyKnownFrom = this.#policyRevisions[surplus - 1] ?? revision;
    this.#policyRevisions = this.#policyRevisions.slice(surplus);
  }

  /** Makes changes to what callers may see take effect, at a revision between events. */
  #settle(revision: number): void {
    const since = this.#policyChangedAt;
    if (since === undefined) return;
    this.#policyChangedAt = undefined;
    this.#flush();
    // What was allowed before goes out before: after the change nobody is sent what it took away.
    for (const watcher of [...this.#watchers]) watcher.beforePolicyChange();
    this.#revision = Math.max(this.#revision, revision);
    const change = { since, revision, differences: new Map<string, ViewChange>() };
    for (const watcher of [...this.#watchers]) watcher.onPolicyChange(change);
  }

  /** Puts what has come into the queues of the watchers. */
  #flush(): void {
    for (const group of this.#dirty) {
      const parts = partsOf(group.frames, this.pieceBytes);
      group.frames = [];
      for (const watcher of group.watchers) watcher.enqueue(parts);
    }
    this.#dirty.clear();
  }

  #sendBookmarks(): void {
    for (const watcher of this.#watchers) watcher.sendBookmark();
  }
}

function sameLabels(before: StoredObject | undefined, after: StoredObject | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  const [old, now] = [before.labels ?? {}, after.labels ?? {}];
  const keys = Object.keys(now);
  return keys.length === Object.keys(old).length && keys.every((key) => old[key] === now[key]);
}
