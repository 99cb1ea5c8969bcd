import type { Caller } from '../../api/caller.ts';
import type { WatchSink } from '../../api/request.ts';
import { SharedFrames } from '../../api/shared-frames.ts';
import { type ApiError, gone, unauthorized } from '../../api/status.ts';
import type { MemoryHolder } from '../../lib/memory-account.ts';
import type { ReadableCache, ReadableState } from '../../objects/readable.ts';
import type { Broadcaster, BroadcastWatcher, PermissionChange } from './broadcaster.ts';
import { framesOfChange, framesOfEvents, framesOfState, withBookmark } from './catch-up.ts';
import { errorFrame, type Frame } from './frames.ts';
import { type Batch, batchOf, SendBuffer } from './send-buffer.ts';
import { ViewChange } from './view-change.ts';
import type { WatchView, WatchViews } from './watch-view.ts';

export interface WatcherOptions {
  readonly broadcaster: Broadcaster;
  readonly cache: ReadableCache;
  readonly views: WatchViews;
  /** `allowWatchBookmarks`. */
  readonly bookmarks: boolean;
  readonly sink: WatchSink;
  readonly caller: Caller;
  /** For kinds that are allowed or not as a whole: the error when the watch is no longer allowed. */
  readonly refusal: () => ApiError | undefined;
  /** See `ListParts`. */
  readonly hasChangedSince: (revision: number) => boolean;
  readonly timeoutMs: number;
  readonly now: () => number;
}

/** For how long a watcher that catches up makes frames in one slot. */
const CHUNK_MS = 1;
/** See `ITEMS_PER_CLOCK_READ`: frames are made of the same items. */
const FRAMES_PER_CLOCK_READ = 2;
/** A watch that catches up holds a past state in memory: a client that reads nothing for so long is disconnected. */
const STALL_MS = 30_000;
const BOOKMARK_BEFORE_END_MS = 2_000;
const MAX_TIMER_MS = 2 ** 31 - 1;

const tooOld = (revision: number, why: string): ApiError => gone(`too old resource version: ${revision}${why}`);

/**
 * One open watch. It either catches up, and makes frames as fast as its client reads them, or it is live, in a group of
 * the broadcaster. It goes live only at the broadcaster's revision, so no event is lost or repeated.
 */
export class Watcher implements BroadcastWatcher, MemoryHolder {
  readonly #options: WatcherOptions;
  readonly caller: Caller;
  #view: WatchView;
  /** While it catches up: every event up to this revision has been written, or is in `#source`. */
  #position = 0;
  #state: 'catching-up' | 'live' | 'ending' | 'closed' = 'catching-up';
  /** The frames that are still to be made and written while it catches up, after those of the send buffer. */
  #source: Iterator<Frame> | undefined;
  /** What is left of a long frame whose beginning was written while it catches up. */
  #rest: Frame = [];
  /** Live events, and a last frame, that wait for the watcher's slot or for the client. */
  readonly #sendBuffer: SendBuffer;
  readonly #timers: NodeJS.Timeout[] = [];
  #stallTimer: NodeJS.Timeout | undefined;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.caller = options.caller;
    this.#view = options.views.current();
    const { sink, broadcaster } = options;
    this.#sendBuffer = new SendBuffer(sink, broadcaster.joinBatches, broadcaster.memory.open(this.caller.flow, this));
    broadcaster.add(this);
    this.#startTimers();
    sink.onDrain(() => {
      this.#sendBuffer.drained();
      clearTimeout(this.#stallTimer);
      this.#stallTimer = undefined;
      // In a later tick: a fast client drains in the tick of the write, and would take every chunk in this one.
      if (this.#state !== 'live' || !this.#sendBuffer.isEmpty) broadcaster.writes.schedule(this);
    });
    // Last, because a sink that is closed already calls back at once, and that undoes everything above.
    sink.onClose(() => this.#close());
  }

  get view(): WatchView {
    return this.#view;
  }

  /** Writes the state as ADDED events, the bookmark that ends them if `marksEnd`, then the events that follow. */
  startWithState(snapshot: ReadableState, revision: number, { marksEnd }: { readonly marksEnd: boolean }): void {
    this.#position = revision;
    this.#source = framesOfState(this.#view, snapshot, marksEnd ? revision : undefined);
    this.#catchUp();
  }

  /** Writes the events after this revision. A client that missed a change of its permissions has to list again. */
  startAfter(revision: number): void {
    this.#position = revision;
    if (this.#options.hasChangedSince(revision)) this.#fail(tooOld(revision, ': permissions have changed'));
    else this.#catchUp();
  }

  /** Writes until the connection is full, the watcher is live or the watch is closed. */
  #catchUp(): void {
    const { broadcaster } = this.#options;
    while (this.#state === 'catching-up') {
      const source = this.#source;
      // A slow client does not go live before it has taken what was sent: it may lose a permission meanwhile.
      if (this.#awaitsClient()) return;
      if (source !== undefined || this.#rest.length > 0) {
        // It gets nothing more that was made under its old view, and lists again.
        if (this.#hasOldView) break;
        this.#writeChunk(source);
        if (this.#source !== source || this.#sendBuffer.isFull) continue;
        // More frames, and a client that could accept them at once: other watchers write in between.
        broadcaster.writes.schedule(this);
        return;
      }
      // V-11: a revision in the future; events before it are not shown.
      if (this.#position > broadcaster.revision || !broadcaster.hasFollowedPolicy) return;
      if (this.#position < broadcaster.revision) this.#addMissedFrames(broadcaster.revision);
      else if (this.#hasOldView) break;
      else {
        this.#state = 'live';
        broadcaster.joinGroup(this);
        return;
      }
    }
    if (this.#state === 'catching-up') this.expire();
  }

  /** Whether the caller's permissions have changed since its view was made. */
  get #hasOldView(): boolean {
    return this.#options.views.current().groupId !== this.#view.groupId;
  }

  /** The frames from the watcher's position to this revision. */
  #addMissedFrames(upTo: number): void {
    const { cache } = this.#options;
    const events = cache.eventsAfter(this.#position);
    if (events === undefined) {
      this.#fail(tooOld(this.#position, ` (${cache.windowStart})`));
      return;
    }
    this.#source = framesOfEvents(this.#view, events, upTo);
    this.#position = upTo;
  }

  #writeChunk(source: Iterator<Frame> | undefined): void {
    const { writeBytes, writes } = this.#options.broadcaster;
    let pieces = [...this.#rest];
    let size = lengthOf(pieces);
    const end = writes.now() + CHUNK_MS;
    for (let count = 1; source !== undefined && size < writeBytes; count++) {
      const next = source.next();
      if (next.done === true) {
        this.#source = undefined;
        break;
      }
      pieces.push(...next.value);
      size += lengthOf(next.value);
      if (count % FRAMES_PER_CLOCK_READ === 0 && writes.now() >= end) break;
    }
    // Only a long frame makes it so much more: it is written in parts.
    [pieces, this.#rest] = size > 2 * writeBytes ? splitAt(pieces, writeBytes) : [pieces, []];
    if (size > 0) this.#sendBuffer.writeOwn(pieces, lengthOf(this.#rest));
  }

  /** A client that takes nothing is disconnected: it holds a past state, or a watch that has ended. */
  #awaitsClient(): boolean {
    if (this.#sendBuffer.isFull) this.#stallTimer ??= setTimeout(() => this.disconnect(), STALL_MS);
    return this.#sendBuffer.isFull;
  }

  enqueue(batches: readonly Batch[]): void {
    if (this.#state === 'closed') return;
    for (const batch of batches) this.#sendBuffer.add(batch);
    this.#options.broadcaster.writes.schedule(this);
  }

  /** An exception ends this watch only. This runs outside of a request, so it would end the process. */
  writeSome(): void {
    const { broadcaster, sink } = this.#options;
    try {
      if (this.#state === 'live' && this.#sendBuffer.checkLag() === 'too-far-behind') this.disconnect();
      else if (this.#sendBuffer.writeSome(broadcaster.writeBytes)) broadcaster.writes.schedule(this);
      else if (this.#state === 'catching-up') this.#catchUp();
      else if (this.#state === 'ending') this.#endWhenWritten();
    } catch (error) {
      this.#close();
      sink.fail(error);
    }
  }

  /** Writes what a client that keeps up gets before the next frame. */
  #flush(): void {
    if (!this.#isOpen) return;
    if (this.#sendBuffer.checkLag() === 'too-far-behind') this.disconnect();
    else this.#sendBuffer.flush(this.#options.broadcaster.writeBytes);
  }

  /** The broadcaster's revision has changed, and this watcher is in no group. */
  onBroadcasterProgress(): void {
    if (this.#source === undefined) this.#catchUp();
  }

  /** Events from before a change of its view come first. */
  beforePolicyChange(): void {
    if (this.#state !== 'live' || this.#sendBuffer.isEmpty) return;
    if (this.#hasOldView || this.#options.refusal() !== undefined) this.#flush();
  }

  /** The broadcaster is between two events: the difference between the old and the new view follows. */
  onPolicyChange({ since, revision, differences }: PermissionChange): void {
    if (this.endIfRefused() || !this.#isOpen) return;
    const { broadcaster, cache, views, bookmarks } = this.#options;
    const before = this.#view;
    const after = views.current();
    if (after.groupId === before.groupId) return;
    // V-11: a revision in the future; events before it are not shown.
    if (this.#state === 'catching-up' && this.#position > revision) {
      this.#view = after;
      return;
    }
    const state = cache.at(revision);
    // A client that is behind starts over: it may no longer see what waits for it.
    if (this.#state !== 'live' || !this.#sendBuffer.isEmpty || state === undefined) {
      this.expire();
      return;
    }
    broadcaster.leaveGroup(this);
    this.#state = 'catching-up';
    this.#position = revision;
    this.#view = after;
    const groups = JSON.stringify([before.groupId, after.groupId]);
    const change = differences.get(groups) ?? new ViewChange(state, before.selection, after.selection);
    differences.set(groups, change);
    if (!change.isEmpty) {
      const frames = framesOfChange(after, change, since);
      this.#source = bookmarks ? withBookmark(after, frames, revision) : frames;
      broadcaster.writes.schedule(this);
    } else {
      // It goes live at once: waiting for a slot, it would miss the next events.
      this.#catchUp();
    }
  }

  /**
   * A permission has ended, and the event of its deletion does not come: there is no leader, or the clock is wrong. The
   * client lists again, and gets what it may see now.
   */
  followTime(time: number): void {
    const { views } = this.#options;
    if (!this.#isOpen || views.isSteady(time) || this.endIfRefused()) return;
    if (this.#hasOldView) this.expire();
  }

  /** Ends the watch when it is no longer allowed; true if it did. */
  endIfRefused(): boolean {
    const refusal = this.#isOpen ? this.#options.refusal() : undefined;
    if (refusal === undefined) return false;
    this.#fail(refusal);
    return true;
  }

  expire(): void {
    const { revision } = this.#options.broadcaster;
    this.#fail(tooOld(revision, ` (${revision + 1})`));
  }

  get unsentBytes(): number {
    return this.#sendBuffer.unsentBytes;
  }

  /** There is no more memory for what this client has not read. */
  giveUp(): void {
    // A long frame that was begun would have to be kept to its end, and a watch that ends has said so.
    if (!this.#isOpen || this.#rest.length > 0) this.disconnect();
    this.#sendBuffer.close();
    this.#fail(gone('too much memory is in use for events that the client has not read'));
  }

  /** Ends the watch when the caller's credential is no longer valid. */
  checkCaller(): void {
    if (this.#isOpen && !this.caller.isLive()) this.#fail(unauthorized());
  }

  sendBookmark(): void {
    if (this.#state !== 'live' || !this.#options.bookmarks) return;
    const { broadcaster } = this.#options;
    this.enqueue([broadcaster.bookmarkFor(this.#view.representation)]);
  }

  /** The server shuts down: ends cleanly, with a bookmark from which the client can resume. */
  finish(): void {
    this.sendBookmark();
    this.#finishFrame();
    this.#sendBuffer.writeAll();
    this.#end();
  }

  /** No more frames are made: what is left of the one that was begun goes to the send buffer. */
  #finishFrame(): void {
    if (this.#rest.length > 0) this.#add(this.#rest);
    this.#rest = [];
    this.#source = undefined;
  }

  #add(frame: Frame): void {
    const { nextId } = this.#options.broadcaster;
    this.#sendBuffer.add(batchOf(nextId(), [new SharedFrames(nextId(), Buffer.concat(frame))]));
  }

  /** Closes the connection at once: the client is too slow, or the events that it missed are unknown. */
  disconnect(): void {
    if (this.#state === 'closed') return;
    this.#close();
    this.#options.sink.destroy();
  }

  /** What the client has not taken is dropped: it starts over, and may no longer see that. */
  #fail(error: ApiError): void {
    this.#flush();
    if (!this.#isOpen) return;
    this.#sendBuffer.close();
    this.#finishFrame();
    this.#add([errorFrame(error.status)]);
    this.#end();
  }

  /** No more events. The stream ends when the client has taken those that were sent. */
  #end(): void {
    this.#flush();
    if (!this.#isOpen) return;
    this.#state = 'ending';
    this.#finishFrame();
    this.#options.broadcaster.leaveGroup(this);
    this.#endWhenWritten();
  }

  #endWhenWritten(): void {
    if (!this.#sendBuffer.isEmpty) {
      this.#awaitsClient();
      return;
    }
    this.#close();
    this.#options.sink.end();
  }

  /** It may still get events. */
  get #isOpen(): boolean {
    return this.#state === 'catching-up' || this.#state === 'live';
  }

  #close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#source = undefined;
    this.#sendBuffer.close();
    clearTimeout(this.#stallTimer);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#options.broadcaster.remove(this);
  }

  #startTimers(): void {
    const { timeoutMs, now } = this.#options;
    const after = (ms: number, action: () => void): void => {
      this.#timers.push(setTimeout(action, Math.min(Math.max(ms, 0), MAX_TIMER_MS)));
    };
    // V-04: at the timeout the stream ends without an error event.
    after(timeoutMs, () => this.#end());
    if (timeoutMs > BOOKMARK_BEFORE_END_MS) after(timeoutMs - BOOKMARK_BEFORE_END_MS, () => this.sendBookmark());
    // The credential is valid up to and including `expiresAt`.
    if (this.caller.expiresAt !== undefined) after(this.caller.expiresAt - now() + 1, () => this.checkCaller());
  }
}

const lengthOf = (pieces: Frame): number => pieces.reduce((sum, { length }) => sum + length, 0);

/** The first bytes of the pieces, and the others. */
function splitAt(pieces: Frame, at: number): [Uint8Array[], Uint8Array[]] {
  const [first, others]: [Uint8Array[], Uint8Array[]] = [[], []];
  let room = at;
  for (const piece of pieces) {
    if (room > 0) first.push(piece.subarray(0, room));
    if (piece.length > room) others.push(piece.subarray(room));
    room = Math.max(0, room - piece.length);
  }
  return [first, others];
}
