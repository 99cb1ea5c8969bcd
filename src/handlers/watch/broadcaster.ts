import type { Caller } from '../../api/caller.ts';
import { apiVersionOf, collectionPrefix, type Kind, kindPrefix } from '../../api/kind.ts';
import { SharedFrames } from '../../api/shared-frames.ts';
import { equalJson } from '../../lib/json.ts';
import type { MemoryAccount } from '../../lib/memory-account.ts';
import { every } from '../../lib/rounds.ts';
import type { ProjectionListener } from '../../objects/projected-cache.ts';
import type { ReadableEvent, ReadableObject } from '../../objects/readable.ts';
import type { Trace } from '../../observability/protocol-trace.ts';
import type { Representation } from '../representation.ts';
import { bookmarkFrame, createEventFrames } from './frames.ts';
import { type Batch, batchesOf, batchOf, createJoinCache, writeBytesFor } from './send-buffer.ts';
import type { ViewChange } from './view-change.ts';
import type { WatchView } from './watch-view.ts';
import { WriteScheduler, type WriteSchedulerOptions } from './write-scheduler.ts';

/** A change of what watchers may see, between two events. */
export interface PermissionChange {
  /** The revision of the first part of the change. */
  readonly since: number;
  /** The last revision before the next event. */
  readonly revision: number;
  /** By the groups before and after: watchers that move from one group to the same other one share a difference. */
  readonly differences: Map<string, ViewChange>;
}

/** What the broadcaster needs of an open watch; see `Watcher`. */
export interface BroadcastWatcher {
  readonly caller: Caller;
  readonly view: WatchView;
  enqueue(batches: readonly Batch[]): void;
  /** Writes about `writeBytes`, in this watcher's slot. */
  writeSome(): void;
  onBroadcasterProgress(): void;
  beforePolicyChange(): void;
  onPolicyChange(change: PermissionChange): void;
  /** Permissions may have ended with the time. */
  followTime(time: number): void;
  endIfRefused(): boolean;
  /** Ends the watch with a 410: the client has to list again. */
  expire(): void;
  checkCaller(): void;
  sendBookmark(): void;
  finish(): void;
  disconnect(): void;
}

/** Watchers with the same selection and view: an event is selected once for all of them. */
interface Group {
  readonly view: WatchView;
  readonly watchers: Set<BroadcastWatcher>;
  frames: SharedFrames[];
}

interface BroadcasterOptions extends WriteSchedulerOptions {
  readonly clusters: Kind;
  /** Whether the event changes the roles and bindings that permissions are made of. */
  readonly isPolicy: (event: ReadableEvent) => boolean;
  readonly bookmarkIntervalMs: number;
  readonly memory: MemoryAccount;
  /** Epoch milliseconds. */
  readonly timeOfDay: () => number;
  readonly trace?: Trace | undefined;
}

const TIME_CHECK_MS = 1_000;

/**
 * Sends events to the open watches. A permission change takes effect between the events where it happened. Events are
 * collected for each group, and its watchers write them in their slots: see `WriteScheduler`.
 */
export class Broadcaster implements ProjectionListener {
  readonly #options: BroadcasterOptions;
  /** The slots of the watchers that have something to write. */
  readonly writes: WriteScheduler;
  readonly #groups = new Map<Kind, Map<string, Group>>();
  /** Groups with frames that are not in the send buffers yet. */
  readonly #dirty = new Set<Group>();
  readonly #watchers = new Set<BroadcastWatcher>();
  /** Watchers that have not caught up: they are in no group. */
  readonly #behind = new Set<BroadcastWatcher>();
  /** Watchers by the storage keys of the objects that their caller's credential depends on. */
  readonly #dependents = new Map<string, Set<BroadcastWatcher>>();
  readonly #stopTimers: () => void;
  /** The first policy change that has not taken effect yet. */
  #policyChangedAt: number | undefined;
  /** Watches have followed the policy up to this revision. */
  #followed = 0;
  #revision = 0;
  #bookmarks = { revision: 0, byForm: new Map<string, Batch>() };
  #labelsChangedAt = 0;
  #lastId = 0;
  readonly memory: MemoryAccount;

  constructor(options: BroadcasterOptions) {
    this.#options = options;
    this.memory = options.memory;
    this.writes = new WriteScheduler(options);
    const timers = [
      every(options.bookmarkIntervalMs, () => this.#sendBookmarks()),
      every(TIME_CHECK_MS, () => this.#followTime(options.timeOfDay())),
    ];
    this.#stopTimers = () => {
      for (const stop of timers) stop();
    };
  }

  /** The number of open watches. */
  get size(): number {
    return this.#watchers.size;
  }

  /** Every event up to this revision has been sent to the groups. */
  get revision(): number {
    return this.#revision;
  }

  /** Bytes of one write to one watcher. */
  get writeBytes(): number {
    return writeBytesFor(this.#watchers.size);
  }

  /** A number for a batch or a watch, different from all before it. */
  readonly nextId = (): number => ++this.#lastId;
  readonly joinBatches = createJoinCache(this.nextId);

  add(watcher: BroadcastWatcher): void {
    this.#watchers.add(watcher);
    this.#behind.add(watcher);
    for (const key of watcher.caller.dependsOn) {
      const dependents = this.#dependents.get(key) ?? new Set();
      dependents.add(watcher);
      this.#dependents.set(key, dependents);
    }
  }

  remove(watcher: BroadcastWatcher): void {
    this.leaveGroup(watcher);
    this.#watchers.delete(watcher);
    this.#behind.delete(watcher);
    this.writes.remove(watcher);
    for (const key of watcher.caller.dependsOn) {
      const dependents = this.#dependents.get(key);
      dependents?.delete(watcher);
      if (dependents?.size === 0) this.#dependents.delete(key);
    }
  }

  /** From now on the watcher gets the frames of its group. It must have caught up to `revision`. */
  joinGroup(watcher: BroadcastWatcher): void {
    const { view } = watcher;
    const { kind } = view.representation;
    const groups = this.#groups.get(kind) ?? new Map<string, Group>();
    this.#groups.set(kind, groups);
    const group = groups.get(view.groupId) ?? { view, watchers: new Set(), frames: [] };
    groups.set(view.groupId, group);
    group.watchers.add(watcher);
    this.#behind.delete(watcher);
  }

  leaveGroup(watcher: BroadcastWatcher): void {
    const { groupId, representation } = watcher.view;
    const groups = this.#groups.get(representation.kind);
    const group = groups?.get(groupId);
    group?.watchers.delete(watcher);
    if (group?.watchers.size === 0) groups?.delete(groupId);
    this.#behind.add(watcher);
  }

  /** Whether watches have followed all policy changes. Until then no watch goes live. */
  get hasFollowedPolicy(): boolean {
    return this.#policyChangedAt === undefined;
  }

  isWatched(kind: Kind): boolean {
    return (this.#groups.get(kind)?.size ?? 0) > 0;
  }

  onEvent(event: ReadableEvent): void {
    const { before, after, revision } = event;
    const { kind, key } = after ?? before ?? {};
    if (kind === undefined || key === undefined) return;
    const isPolicy = this.#options.isPolicy(event);
    // A policy change takes effect before the next event. Writes of rules come in bunches, which take effect together,
    // unless this kind of rule is watched: then its watcher may just have lost the permission to see this event.
    if (!isPolicy || this.isWatched(kind)) this.#applyPolicyChange(revision - 1);
    this.#checkDependents(key);
    // Rules can be watched like every other kind.
    const framesFor = createEventFrames(event, this.writeBytes, this.nextId);
    for (const group of this.#groups.get(kind)?.values() ?? []) {
      const shown = framesFor(group.view.selection, group.view.representation);
      if (shown === undefined) continue;
      this.#options.trace?.('shown', { revision, key, rules: this.#followed });
      group.frames.push(...shown);
      this.#dirty.add(group);
    }
    if (isPolicy) this.#policyChangedAt ??= revision;
    else if (kind === this.#options.clusters && !sameLabels(before, after)) {
      this.#labelsChangedAt = revision;
      this.#checkWatchesIn(key, before, after);
    }
  }

  /** The revision of the last change of a cluster's labels. */
  get labelsChangedAt(): number {
    return this.#labelsChangedAt;
  }

  onProgress(revision: number): void {
    this.#applyPolicyChange(revision);
    this.#flush();
    this.#revision = revision;
    for (const watcher of [...this.#behind]) watcher.onBroadcasterProgress();
  }

  /**
   * The caches were read again from the store. The events in between are unknown, so every client has to start over.
   */
  onReset(revision: number): void {
    for (const watcher of [...this.#watchers]) watcher.disconnect();
    this.#policyChangedAt = undefined;
    this.#labelsChangedAt = revision;
    this.#revision = revision;
  }

  /** A recreated cluster invalidated bindings. Its event, at this revision, comes next: watches follow before it. */
  onBindingsOrphaned(revision: number): void {
    this.#policyChangedAt ??= revision;
  }

  /** For revocations outside of the store, e.g. in the token file. */
  checkCallers(): void {
    for (const watcher of [...this.#watchers]) watcher.checkCaller();
  }

  /** Ends every watch cleanly. */
  shutDown(): void {
    this.#stopTimers();
    for (const watcher of [...this.#watchers]) watcher.finish();
  }

  /** Ends the watches whose credential depends on this object and is no longer valid, before they get its event. */
  #checkDependents(key: string): void {
    const dependents = this.#dependents.get(key);
    if (dependents === undefined) return;
    this.#flush();
    for (const watcher of [...dependents]) watcher.checkCaller();
  }

  /**
   * A binding can select clusters by label, also for the objects inside them: new labels can end the permission of a
   * watch inside this cluster. Watches of clusters need no check: their rules see the labels of each cluster. A rule
   * about other objects can depend on them as well: what it admits changes without an event of these objects.
   */
  #checkWatchesIn(clusterKey: string, before: ReadableObject | undefined, after: ReadableObject | undefined): void {
    const name = clusterKey.slice(kindPrefix(this.#options.clusters).length);
    const labelsOf = (entry: ReadableObject | undefined) => entry && (entry.labels ?? {});
    for (const watcher of this.#watchers) {
      const { selection, representation } = watcher.view;
      if (selection.rule?.changesWith?.(name, labelsOf(before), labelsOf(after)) === true) {
        this.#flush();
        watcher.expire();
      }
      const { kind } = representation;
      if (!kind.inCluster || !selection.prefix.startsWith(collectionPrefix(kind, name, ''))) continue;
      this.#flush();
      watcher.endIfRefused();
    }
  }

  #followTime(time: number): void {
    for (const watcher of [...this.#watchers]) watcher.followTime(time);
  }

  #applyPolicyChange(revision: number): void {
    const since = this.#policyChangedAt;
    if (since === undefined) return;
    this.#policyChangedAt = undefined;
    this.#flush();
    // Events from before the change are written under the old rules.
    for (const watcher of [...this.#watchers]) watcher.beforePolicyChange();
    // Rules permit an impersonation as well: it ends with its permission.
    for (const watcher of [...this.#watchers]) if (watcher.caller.impersonator !== undefined) watcher.checkCaller();
    this.#revision = Math.max(this.#revision, revision);
    this.#followed = revision;
    const change = { since, revision, differences: new Map<string, ViewChange>() };
    for (const watcher of [...this.#watchers]) watcher.onPolicyChange(change);
  }

  /** Moves the frames of the groups to the send buffers of their watchers. */
  #flush(): void {
    const known = new Map<string, readonly Batch[]>();
    for (const group of this.#dirty) {
      // Groups that show the same frames share the batches, and so what is joined of them.
      const key = group.frames.map(({ id }) => id).join();
      const batches = known.get(key) ?? batchesOf(group.frames, this.writeBytes, this.nextId);
      known.set(key, batches);
      group.frames = [];
      for (const watcher of group.watchers) watcher.enqueue(batches);
    }
    this.#dirty.clear();
  }

  /** A bookmark at the present revision, made once for all watchers of the same form. */
  bookmarkFor(representation: Representation): Batch {
    if (this.#bookmarks.revision !== this.#revision) this.#bookmarks = { revision: this.#revision, byForm: new Map() };
    const { kind, form, streamed } = representation;
    const key = JSON.stringify([apiVersionOf(kind), kind.kind, form, streamed?.namesColumns]);
    const bytes = () => Buffer.concat(bookmarkFrame(representation, this.#revision));
    const bookmark =
      this.#bookmarks.byForm.get(key) ?? batchOf(this.nextId(), [new SharedFrames(this.nextId(), bytes())]);
    this.#bookmarks.byForm.set(key, bookmark);
    if (streamed !== undefined) streamed.namesColumns = false;
    return bookmark;
  }

  #sendBookmarks(): void {
    for (const watcher of this.#watchers) watcher.sendBookmark();
  }
}

const sameLabels = (before: ReadableObject | undefined, after: ReadableObject | undefined): boolean =>
  before !== undefined && after !== undefined && equalJson(before.labels ?? {}, after.labels ?? {});
