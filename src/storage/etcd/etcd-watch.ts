import { every } from '../../lib/rounds.ts';
import { type Change, type Revision, StorageError, type WatchBatch } from '../contract.ts';
import type { KeySpace } from './key-space.ts';
import type { Member } from './member.ts';
import type { Members, OpenStream } from './members.ts';
import { type EtcdWatchRequest, type EtcdWatchResponse, WATCH_PATH, watchRequest, watchResponse } from './messages.ts';

/** The newest revision that any response of etcd has carried. */
export class RevisionHead {
  readonly #listeners = new Set<() => void>();
  #revision: Revision = 0;

  get revision(): Revision {
    return this.#revision;
  }

  advanceTo(revision: Revision): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    for (const listener of this.#listeners) listener();
  }

  /** Calls back after each advance; returns how to stop that. */
  onAdvance(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

type Head = Pick<RevisionHead, 'revision' | 'onAdvance'>;

interface WatchStreamOptions {
  readonly members: Members;
  readonly space: KeySpace;
  readonly head: Head;
  readonly prefix: string;
  readonly after: Revision;
  readonly signal: AbortSignal;
  /** The member that serves the other watches. */
  readonly prefer: Member | undefined;
  /** Called with the member that serves the stream. Reads from that member are never ahead of the watch for long. */
  readonly onOpen: (member: Member) => void;
  /** How long the stream may be silent after a progress request. */
  readonly deadMs: number;
  /** Called with the time that the member took to answer a progress request. */
  readonly onAnswer: (ms: number) => void;
}

/** An event has this long to arrive by itself before progress is requested. */
const REQUEST_AFTER_MS = 5;
/** A member ignores a progress request while the watch is behind, so it is repeated. */
const REPEAT_MS = 30;
const IDLE_MS = 250;
const CHECK_MS = 50;

/**
 * One watch stream at one member, from a revision until it breaks. Throws `compacted`, or the reason why it ended;
 * returns only when the signal aborts.
 *
 * The watch starts at `after` and drops that change. At `after + 1`, etcd would accept a watch from the revision that
 * was compacted at, where a deletion may be gone already; it refuses the revision before.
 */
export async function* watchStream(options: WatchStreamOptions): AsyncGenerator<WatchBatch, void, undefined> {
  const { members, space, prefix, signal, onOpen } = options;
  const open = await members.stream(WATCH_PATH, watchRequest, watchResponse, options.prefer);
  const progress = new ProgressRequester(open, options);
  const cancel = (): void => open.stream.cancel();
  // The reader of the stream gets the error. Without this listener, an error after the end would end the process.
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
    progress.start(options.after);
    let position = options.after;
    let changes: Change[] = [];
    for await (const response of progress.responses()) {
      checkNotCanceled(response);
      if (response.created) progress.created();
      for (const event of response.events) {
        const change = space.change(event);
        if (change.modRevision > position) changes.push(change);
      }
      // The rest of the same response follows.
      if (response.fragment) continue;
      const reached = reachedBy(response, changes, space);
      if (reached === undefined || reached <= position) {
        progress.reached(position);
        continue;
      }
      const batch = { changes, revision: reached };
      changes = [];
      position = reached;
      progress.reached(position);
      yield batch;
    }
    throw new StorageError('unavailable', 'the member ended the watch');
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof StorageError && error.code === 'compacted')) members.failed(open.member, error);
    throw error;
  } finally {
    signal.removeEventListener('abort', cancel);
    progress.stop();
    open.stream.cancel();
  }
}

function checkNotCanceled({ compactRevision, canceled, cancelReason }: EtcdWatchResponse): void {
  if (compactRevision > 0) throw new StorageError('compacted', 'the watch needs changes that have been compacted');
  if (canceled) throw new StorageError('unavailable', `the member refused the watch: ${cancelReason}`);
}

/**
 * With events: the last of them, because the header may be ahead of a response that comes in fragments. Without events
 * the header is a progress report, which etcd sends only when the watch has received everything.
 */
function reachedBy(response: EtcdWatchResponse, changes: readonly Change[], space: KeySpace): Revision | undefined {
  if (response.created) return undefined;
  if (response.events.length > 0) return changes.at(-1)?.modRevision;
  return response.header === undefined ? undefined : space.fromEtcd(response.header.revision);
}

/**
 * Requests progress of a watch while the store is known to be ahead of it, and at times when the stream is idle. A
 * stream that stays silent after a request is dead: a member that hangs keeps its connections open.
 */
class ProgressRequester {
  readonly #open: OpenStream<EtcdWatchRequest, EtcdWatchResponse>;
  readonly #options: Pick<WatchStreamOptions, 'head' | 'deadMs' | 'onAnswer'>;
  #position: Revision = 0;
  /**
   * The member has sent the id of the watch. Before that it holds back events but not progress reports, which belong to
   * no watch: such a report would claim that the watch has received events that it has not.
   */
  #isCreated = false;
  /** True while our reader waits for the stream: only then does silence mean anything. */
  #waiting = false;
  #lastHeard = performance.now();
  #requestedAt: number | undefined;
  /** How long the member has been silent since the request, without pauses of this process. */
  #silentMs = 0;
  #lastCheck = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #stopChecking: (() => void) | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(
    open: OpenStream<EtcdWatchRequest, EtcdWatchResponse>,
    options: Pick<WatchStreamOptions, 'head' | 'deadMs' | 'onAnswer'>,
  ) {
    this.#open = open;
    this.#options = options;
  }

  start(position: Revision): void {
    this.#position = position;
    this.#unsubscribe = this.#options.head.onAdvance(() => this.#schedule(REQUEST_AFTER_MS));
    this.#stopChecking = every(CHECK_MS, () => this.#check());
    this.#schedule(REQUEST_AFTER_MS);
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
        if (this.#requestedAt !== undefined) this.#options.onAnswer(performance.now() - this.#requestedAt);
        this.#requestedAt = undefined;
        yield value as EtcdWatchResponse;
      }
    } finally {
      this.#waiting = false;
    }
  }

  created(): void {
    this.#isCreated = true;
  }

  reached(position: Revision): void {
    this.#position = position;
    this.#schedule(REPEAT_MS);
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#stopChecking?.();
    clearTimeout(this.#timer);
    this.#stopChecking = undefined;
  }

  #schedule(ms: number): void {
    if (this.#timer !== undefined || this.#options.head.revision <= this.#position) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#stopChecking === undefined || this.#options.head.revision <= this.#position) return;
      this.#request();
      this.#schedule(REPEAT_MS);
    }, ms);
  }

  #request(): void {
    if (this.#requestedAt === undefined) {
      this.#requestedAt = performance.now();
      this.#silentMs = 0;
    }
    if (this.#isCreated && this.#open.stream.writable) this.#open.stream.write({ progress: {} });
  }

  #check(): void {
    const now = performance.now();
    // After a pause of this process, e.g. a suspended machine, there may be answers that it has not read yet.
    const elapsed = Math.min(now - this.#lastCheck, 2 * CHECK_MS);
    this.#lastCheck = now;
    if (!this.#waiting) return;
    if (this.#requestedAt === undefined) {
      if (now - this.#lastHeard > IDLE_MS) this.#request();
      return;
    }
    this.#silentMs += elapsed;
    if (this.#silentMs <= this.#options.deadMs) return;
    this.#open.stream.destroy(
      new StorageError('unavailable', `the member ${this.#open.member.address} does not answer`),
    );
  }
}
