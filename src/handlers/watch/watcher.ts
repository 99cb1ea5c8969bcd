import type { Caller } from '../../api/caller.ts';
import type { WatchSink } from '../../api/request.ts';
import { ApiError, unauthorized } from '../../api/status.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { Snapshot } from '../../storage/snapshot.ts';
import type { Broadcaster } from './broadcaster.ts';
import { type CatchUpParts, framesBetween, framesOfState, thenBookmark } from './catch-up.ts';
import { bookmarkFrame, errorFrame, type Told } from './frames.ts';
import { framesOfChange, type WatchView } from './replay.ts';
import { Part, SendBuffer } from './send-buffer.ts';
import { ViewChange } from './view-change.ts';

export interface WatcherOptions extends CatchUpParts {
  readonly broadcaster: Broadcaster;
  readonly sink: WatchSink;
  readonly caller: Caller;
  readonly groupIdOf: (view: WatchView) => string;
  /** For kinds that are allowed or not as a whole: an error when it is no longer allowed. */
  readonly refused: () => ApiError | undefined;
  readonly timeoutMs: number;
  readonly now: () => number;
}

/** What is made and written in one turn while a watcher catches up. */
const CHUNK_BYTES = 128 * 1024;
const CHUNK_MS = 1;
/** How many frames are made before a look at the clock. */
const BETWEEN_LOOKS = 8;
/** A client that takes nothing for this long while it catches up is cut: what it has yet to read is kept in memory. */
const STALL_MS = 30_000;
const BOOKMARK_BEFORE_END_MS = 2_000;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A change of what callers may see, as the hub tells it: its first revision, and the last before what follows. */
export interface PolicyChange {
  readonly since: number;
  readonly revision: number;
  /** What it means to all who see the same before and after: found once. */
  readonly differences: Map<string, ViewChange>;
}

/**
 * One open watch. It is either catching up, pulling frames at the pace of its client, or live, in a group
 * of the hub. Between the two there is no gap: it joins only at the hub's revision.
 */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly caller: Caller;
  /** What its group is shown; of no meaning while it is not in one. */
  #view: WatchView;
  /** While it is not live: everything up to here has been written, or will be by the source. */
  #position = 0;
  #live = false;
  #ended = false;
  #waiting = false;
  /** Live events that wait for their turn. */
  readonly #sendBuffer: SendBuffer;
  #source: Iterator<Told> | undefined;
  readonly #timers: NodeJS.Timeout[] = [];
  #stalled: NodeJS.Timeout | undefined;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.caller = options.caller;
    this.#view = options.currentView();
    const { sink, broadcaster } = options;
    this.#sendBuffer = new SendBuffer(sink);
    broadcaster.open(this);
    this.#startTimers();
    sink.onDrain(() => {
      this.#sendBuffer.drained();
      this.#waiting = false;
      clearTimeout(this.#stalled);
      // Not at once: a fast client takes each chunk in the turn in which it is written, and would be given the next one in it.
      if (!this.#live || !this.#sendBuffer.isEmpty) broadcaster.queue(this);
    });
    // Last: a sink that is closed already says so at once, and everything above is undone.
    sink.onClose(() => this.#close());
  }

  get view(): WatchView {
    return this.#view;
  }

  get groupId(): string {
    return this.#options.groupIdOf(this.#view);
  }

  /** The present state as ADDED events, a mark at their end if one is wanted, then what follows. */
  startWithState(snapshot: Snapshot<StoredObject>, revision: number, marked: boolean): void {
    this.#position = revision;
    this.#source = framesOfState(this.#options, snapshot, this.#view.selection, marked ? revision : undefined);
    this.#pump();
  }

  /** What happened after this revision, then what follows. */
  startAfter(revision: number): void {
    this.#position = revision;
    this.#pump();
  }

  /** Writes until the client is behind, the source is dry and the watcher is live, or the watch is over. */
  #pump(): void {
    const { broadcaster, currentView } = this.#options;
    while (!this.#ended && !this.#live && !this.#waiting) {
      if (this.#source !== undefined) {
        this.#writeChunk(this.#source);
        if (this.#source === undefined || this.#waiting) continue;
        // There is more, and a client that could take all of it at once: others have their turn in between.
        broadcaster.queue(this);
        return;
      }
      // V-11: a revision that has not happened yet; what comes before it is not shown.
      if (this.#position > broadcaster.revision) return;
      if (this.#position === broadcaster.revision) {
        this.#view = currentView();
        this.#live = true;
        broadcaster.join(this);
        return;
      }
      this.#source = this.#missed();
    }
  }

  /** Frames from the watcher's position to the hub's. */
  #missed(): Iterator<Told> | undefined {
    const upTo = this.#options.broadcaster.revision;
    try {
      const frames = framesBetween(this.#options, this.#position, upTo);
      this.#position = upTo;
      return frames;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#fail(error);
      return undefined;
    }
  }

  #writeChunk(source: Iterator<Told>): void {
    const pieces: Uint8Array[] = [];
    const end = performance.now() + CHUNK_MS;
    let size = 0;
    for (let steps = 1; size < CHUNK_BYTES; steps++) {
      const next = source.next();
      if (next.done === true) {
        this.#source = undefined;
        break;
      }
      for (const piece of next.value) {
        pieces.push(piece);
        size += piece.length;
      }
      if (steps % BETWEEN_LOOKS === 0 && performance.now() >= end) break;
    }
    if (size === 0 || this.#options.sink.writeOwn(pieces)) return;
    this.#waiting = true;
    this.#stalled = setTimeout(() => this.cut(), STALL_MS);
  }

  /** Live events. They are written when it is this watcher's turn. */
  enqueue(parts: readonly Part[]): void {
    if (this.#ended) return;
    for (const part of parts) this.#sendBuffer.add(part);
    this.#options.broadcaster.queue(this);
  }

  /** It is this watcher's turn. */
  serve(): void {
    const { broadcaster } = this.#options;
    if (!this.#live) this.#pump();
    else if (this.#sendBuffer.isTooFarBehind()) this.cut();
    else if (this.#sendBuffer.writeSome(broadcaster.pieceBytes)) broadcaster.queue(this);
  }

  /** Writes what waits, which comes before anything else that is written. */
  #flush(): void {
    if (this.#sendBuffer.isTooFarBehind()) this.cut();
    else this.#sendBuffer.writeAll();
  }

  /** The hub has gone on, and this watcher was not with it. */
  onHubProgress(): void {
    if (this.#source === undefined) this.#pump();
  }

  /** Whoever will see something else hears first of all that came until now. */
  beforePolicyChange(): void {
    if (!this.#live || this.#sendBuffer.isEmpty) return;
    if (this.#options.currentView() !== this.#view || this.#options.refused() !== undefined) this.#flush();
  }

  /** The hub is between events: a live watcher is taken from what was visible to what is, at its client's pace. */
  onPolicyChange({ since, revision, differences }: PolicyChange): void {
    if (this.checkAllowed() || this.#ended || !this.#live) return;
    const { broadcaster, cache, currentView, groupIdOf } = this.#options;
    const before = this.#view;
    const after = currentView();
    if (after === before) return;
    broadcaster.leave(this);
    this.#live = false;
    const state = cache.at(revision);
    if (state === undefined) {
      this.cut();
      return;
    }
    this.#position = revision;
    const who = `${groupIdOf(before)}\n\n${groupIdOf(after)}`;
    const change = differences.get(who) ?? new ViewChange(state, before.selection, after.selection);
    differences.set(who, change);
    if (change.isNothing) {
      // It goes on at once: in a queue it would miss what comes next, and be told of it under later rules.
      this.#pump();
      return;
    }
    this.#source = thenBookmark(this.#options, framesOfChange(change, since, currentView), revision);
    broadcaster.queue(this);
  }

  /** Ends the watch when it is no longer allowed; true if it did. */
  checkAllowed(): boolean {
    const refusal = this.#ended ? undefined : this.#options.refused();
    if (refusal === undefined) return false;
    this.#fail(refusal);
    return true;
  }

  /** Ends the watch when the caller's credential is no longer good. */
  checkCaller(): void {
    if (!this.#ended && !this.caller.isLive()) this.#fail(unauthorized());
  }

  sendBookmark(): void {
    if (this.#ended || !this.#live || !this.#options.bookmarks) return;
    this.enqueue([new Part(bookmarkFrame(this.#view.representation, this.#options.broadcaster.revision), 1)]);
  }

  /** The server goes away: ends cleanly, and tells where the client may go on. */
  finish(): void {
    this.sendBookmark();
    this.#end();
  }

  /** Ends at once: the client is too slow, or can not be told what happened. */
  cut(): void {
    if (this.#ended) return;
    this.#close();
    this.#options.sink.cut();
  }

  #fail(error: ApiError): void {
    this.#flush();
    if (this.#ended) return;
    this.#options.sink.write(errorFrame(error.status));
    this.#end();
  }

  #end(): void {
    this.#flush();
    if (this.#ended) return;
    this.#close();
    this.#options.sink.end();
  }

  #close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#source = undefined;
    this.#sendBuffer.clear();
    clearTimeout(this.#stalled);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#options.broadcaster.closed(this);
  }

  #startTimers(): void {
    const { timeoutMs, now } = this.#options;
    const after = (ms: number, action: () => void): void => {
      this.#timers.push(setTimeout(action, Math.min(Math.max(ms, 0), MAX_TIMER_MS)));
    };
    // V-04: the time is up, and no more is said than the bookmark before it.
    after(timeoutMs, () => this.#end());
    if (timeoutMs > BOOKMARK_BEFORE_END_MS) after(timeoutMs - BOOKMARK_BEFORE_END_MS, () => this.sendBookmark());
    // One millisecond later than the last moment at which the credential is good.
    if (this.caller.expiresAt !== undefined) after(this.caller.expiresAt - now() + 1, () => this.checkCaller());
  }
}
