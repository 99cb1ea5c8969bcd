import { type Change, type Revision, StorageError, type WatchBatch } from '../contract.ts';
import type { KeySpace } from './key-space.ts';
import type { Member } from './member.ts';
import type { Members, OpenStream } from './members.ts';
import { type EtcdWatchRequest, type EtcdWatchResponse, WATCH_PATH, watchRequest, watchResponse } from './messages.ts';

/** Where the store is, as far as any answer has told. */
export interface Head {
  readonly revision: Revision;
  /** Calls back when it has moved; returns how to stop that. */
  onMove(listener: () => void): () => void;
}

export interface WatchStreamOptions {
  readonly members: Members;
  readonly space: KeySpace;
  readonly head: Head;
  readonly prefix: string;
  readonly after: Revision;
  readonly signal: AbortSignal;
  /** The member at which the other watches are. */
  readonly prefer: Member | undefined;
  /** Told where the stream is: questions put there are answered by a member that is as far as the watch. */
  readonly onOpen: (member: Member) => void;
  /** How long the stream may be silent after a question. */
  readonly deadMs: number;
}

/** So long an event has to arrive by itself before the member is asked how far it is. */
const ASK_AFTER_MS = 5;
/** A member ignores the question while the watch is behind, so it is put again. */
const ASK_AGAIN_MS = 30;
const IDLE_MS = 2_000;
const TICK_MS = 500;

/**
 * One stream, at one member, from a revision on until it breaks. Throws `compacted`, or why it ended; returns only
 * when the signal aborts.
 *
 * The watch begins at `after` itself and drops what it knows. etcd would accept `after + 1` as the revision that was
 * compacted at, where a deletion may be gone already; one earlier is refused then.
 */
export async function* watchStream(options: WatchStreamOptions): AsyncGenerator<WatchBatch, void, undefined> {
  const { members, space, prefix, signal, onOpen } = options;
  const open = await members.stream(WATCH_PATH, watchRequest, watchResponse, options.prefer);
  const probe = new Probe(open, options);
  const cancel = (): void => open.stream.cancel();
  // Who reads the stream gets the error; without a listener one that comes after the end would end the process.
  open.stream.on('error', () => {});
  signal.addEventListener('abort', cancel);
  try {
    if (signal.aborted) return;
    onOpen(open.member);
    open.stream.write({
      create: {
        key: space.key(prefix),
        rangeEnd: space.end(prefix),
        startRevision: Math.max(1, space.toEtcd(options.after)),
        progressNotify: true,
        fragment: true,
      },
    });
    probe.start(options.after);
    let position = options.after;
    let changes: Change[] = [];
    for await (const response of probe.responses()) {
      refuseCanceled(response, space);
      if (response.created) probe.announced();
      for (const event of response.events) {
        const change = space.change(event);
        if (change.modRevision > position) changes.push(change);
      }
      // The rest of the same answer follows.
      if (response.fragment) continue;
      const reached = reachedBy(response, changes, space);
      if (reached === undefined || reached <= position) {
        probe.heard(position);
        continue;
      }
      const batch = { changes, revision: reached };
      changes = [];
      position = reached;
      probe.heard(position);
      yield batch;
    }
    throw new StorageError('unavailable', 'the member ended the watch');
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof StorageError && error.code === 'compacted')) members.failed(open.member, error);
    throw error;
  } finally {
    signal.removeEventListener('abort', cancel);
    probe.stop();
    open.stream.cancel();
  }
}

function refuseCanceled(response: EtcdWatchResponse, space: KeySpace): void {
  if (response.compactRevision > 0) {
    const oldest = space.fromEtcd(response.compactRevision);
    throw new StorageError(
      'compacted',
      `the watch needs changes that have been compacted: the oldest kept is ${oldest}`,
      {
        revision: oldest - 1,
      },
    );
  }
  if (response.canceled)
    throw new StorageError('unavailable', `the member refused the watch: ${response.cancelReason}`);
}

/**
 * With events, up to the last of them: the header may be further than a long answer that comes in pieces. Without,
 * the header is a progress report, which etcd sends only to a watch that has had everything.
 */
function reachedBy(response: EtcdWatchResponse, changes: readonly Change[], space: KeySpace): Revision | undefined {
  if (response.created) return undefined;
  if (response.events.length > 0) return changes.at(-1)?.modRevision;
  return response.header === undefined ? undefined : space.fromEtcd(response.header.revision);
}

/**
 * Keeps asking a stream how far it is, whenever the store is known to be further, and now and then when all is quiet.
 * A stream that stays silent after a question is dead: a member that hangs keeps its connections open.
 */
class Probe {
  readonly #open: OpenStream<EtcdWatchRequest, EtcdWatchResponse>;
  readonly #head: Head;
  readonly #deadMs: number;
  #position: Revision = 0;
  /**
   * The member has told the id of the watch. Until then it holds events back, but not its answers to questions for progress,
   * which belong to no watch: one would say that we have had everything, before any of it.
   */
  #isAnnounced = false;
  /** True while our reader waits: only then does silence mean anything. */
  #waiting = false;
  #lastHeard = performance.now();
  #askedAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #tick: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(
    open: OpenStream<EtcdWatchRequest, EtcdWatchResponse>,
    options: Pick<WatchStreamOptions, 'head' | 'deadMs'>,
  ) {
    this.#open = open;
    this.#head = options.head;
    this.#deadMs = options.deadMs;
  }

  start(position: Revision): void {
    this.#position = position;
    this.#unsubscribe = this.#head.onMove(() => this.#plan(ASK_AFTER_MS));
    this.#tick = setInterval(() => this.#check(), TICK_MS);
    this.#tick.unref();
    this.#plan(ASK_AFTER_MS);
  }

  async *responses(): AsyncGenerator<EtcdWatchResponse, void, undefined> {
    const iterator = this.#open.stream[Symbol.asyncIterator]();
    try {
      for (;;) {
        this.#waiting = true;
        this.#lastHeard = performance.now();
        const { value, done } = await iterator.next();
        this.#waiting = false;
        if (done === true) return;
        this.#askedAt = undefined;
        yield value as EtcdWatchResponse;
      }
    } finally {
      this.#waiting = false;
    }
  }

  announced(): void {
    this.#isAnnounced = true;
  }

  heard(position: Revision): void {
    this.#position = position;
    this.#plan(ASK_AGAIN_MS);
  }

  stop(): void {
    this.#unsubscribe?.();
    clearInterval(this.#tick);
    clearTimeout(this.#timer);
    this.#tick = undefined;
  }

  #plan(ms: number): void {
    if (this.#timer !== undefined || this.#head.revision <= this.#position) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#tick === undefined || this.#head.revision <= this.#position) return;
      this.#ask();
      this.#plan(ASK_AGAIN_MS);
    }, ms);
  }

  #ask(): void {
    this.#askedAt ??= performance.now();
    if (this.#isAnnounced && this.#open.stream.writable) this.#open.stream.write({ progress: {} });
  }

  #check(): void {
    if (!this.#waiting) return;
    const now = performance.now();
    if (this.#askedAt !== undefined) {
      const since = Math.max(this.#askedAt, this.#lastHeard);
      if (now - since > this.#deadMs) {
        this.#open.stream.destroy(
          new StorageError('unavailable', `the member ${this.#open.member.address} does not answer`),
        );
      }
    } else if (now - this.#lastHeard > IDLE_MS) this.#ask();
  }
}
