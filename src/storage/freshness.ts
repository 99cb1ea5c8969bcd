import { firstWithin } from '../lib/promises.ts';
import { every } from '../lib/rounds.ts';
import { type Revision, StorageError, type Store } from './contract.ts';
import type { AppliedRevision } from './revision-waiters.ts';

interface FreshnessOptions {
  readonly store: Pick<Store, 'revision' | 'knownRevision'>;
  /** The parts that decisions are made from. More can be added with `include`. */
  readonly parts: readonly AppliedRevision[];
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
  /** Milliseconds of the wall clock. */
  readonly wallNow?: () => number;
}

interface Waiter {
  /** The proof must be at least this new. */
  readonly since: number;
  readonly resolve: () => void;
}

/** Decisions from memory include every write that any replica acknowledged this long ago. */
export const MAX_AGE_MS = 1_000;
const PROVE_EVERY_MS = 250;
/** A store that answers no request for this long counts as unreachable. Less than MAX_AGE_MS - PROVE_EVERY_MS. */
const UNREACHABLE_AFTER_MS = 700;
/** The interval of the proofs comes this late: this process was suspended, and knows nothing about the store. */
const PAUSE_MS = 2 * PROVE_EVERY_MS;
const MAX_PROOFS_RUNNING = 16;
const ASK_UNREACHABLE_MS = 1_000;
/** A read of the store that has failed by itself has failed within this time. */
export const MAX_READ_MS = 2_300;
/** A silence that was noticed earlier says nothing: this process may have been suspended since. */
const SILENCE_MS = 2_000;
/** How long a proof may take. */
const PROOF_MS = 4_000;

/**
 * Bounds the age of the state in memory. The store's revision is read several times a second. Once all parts have
 * applied it, memory includes everything that was acknowledged before the read: that is a proof of freshness. A watch
 * that hangs looks like a watch without events, so it proves nothing.
 *
 * - The newest proof is at most MAX_AGE_MS old: memory is current.
 * - It is older, and the store answers: memory may be behind, and nothing may be decided from it.
 * - The store answers no request: memory is used as it is (B12), and `isUnreachable` is true. A refusal is an answer:
 *   other replicas may reach the store, and remove permissions that memory still has.
 * - Another store has taken its place: memory is not about that one, and nothing is decided from it any more.
 */
export class Freshness {
  readonly #store: FreshnessOptions['store'];
  readonly #parts: AppliedRevision[];
  readonly #now: () => number;
  readonly #waiters = new Set<Waiter>();
  #running = 0;
  /** When the revision of the newest proof was requested. */
  #provenAt = Number.NEGATIVE_INFINITY;
  #provenRevision: Revision = 0;
  #answeredAt = Number.NEGATIVE_INFINITY;
  /** When it was last noticed that the store does not answer. It is asked several times a second. */
  #silentAt = Number.NEGATIVE_INFINITY;
  #isReplaced = false;
  readonly #wallNow: () => number;
  /** The wall clock minus the monotonic clock, at the last look. */
  #clockOffset: number;
  /** What was asked before this time proves nothing: this process was suspended since, or the machine has slept. */
  #resumedAt = Number.NEGATIVE_INFINITY;
  /** When the interval of the proofs last came. */
  #cameAt = Number.POSITIVE_INFINITY;

  constructor({ store, parts, now = () => performance.now(), wallNow = Date.now }: FreshnessOptions) {
    this.#store = store;
    this.#parts = [...parts];
    this.#now = now;
    this.#wallNow = wallNow;
    this.#clockOffset = wallNow() - now();
  }

  /** From now on a proof needs this part too. */
  include(part: AppliedRevision): void {
    this.#parts.push(part);
  }

  /** Proves at an interval, until the returned function is called. */
  start(): () => void {
    this.#cameAt = this.#now();
    const stop = every(PROVE_EVERY_MS, () => {
      this.#noticePause();
      this.#cameAt = this.#now();
      if (this.#now() - this.#provenAt >= PROVE_EVERY_MS && !this.#proveFromMemory()) void this.#prove();
    });
    void this.#prove();
    return () => {
      stop();
      this.#cameAt = Number.POSITIVE_INFINITY;
    };
  }

  /** The store has answered no request for UNREACHABLE_AFTER_MS. */
  get isUnreachable(): boolean {
    return this.#silentAt >= this.#now() - SILENCE_MS;
  }

  /** How many calls of `whenCurrent` wait. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** True when decisions may be made from memory now. Makes a new proof if that takes no request to the store. */
  proveCurrent(): boolean {
    if (this.#isReplaced) return false;
    this.#noticePause();
    // Caches that are refilled go back to an older state, which may lack what the proof was about, and writes since.
    if (this.#hasApplied(this.#provenRevision)) {
      if (this.isUnreachable || this.#provenAt >= this.#now() - MAX_AGE_MS) return true;
    }
    return this.#proveFromMemory();
  }

  /** Resolves true as soon as decisions may be made from memory, false if not within the time. */
  async whenCurrent(timeoutMs: number): Promise<boolean> {
    if (this.proveCurrent()) return true;
    const since = this.#now() - MAX_AGE_MS;
    void this.#prove();
    const { promise, resolve } = Promise.withResolvers<true>();
    const waiter: Waiter = { since, resolve: () => resolve(true) };
    this.#waiters.add(waiter);
    const isCurrent = await firstWithin(timeoutMs, promise);
    this.#waiters.delete(waiter);
    return isCurrent === true;
  }

  /**
   * Waits until the parts include every write acknowledged before the call; false if not within the time. Rejects
   * when the store cannot be read.
   */
  async catchUp(timeoutMs: number): Promise<boolean> {
    const asked = this.#now();
    // A store that is known to be unreachable gets less time.
    const answerMs = this.isUnreachable ? Math.min(timeoutMs, ASK_UNREACHABLE_MS) : timeoutMs;
    const revision = this.#store.knownRevision?.() ?? (await firstWithin(answerMs, this.#ask()));
    if (revision === undefined) throw new StorageError('unavailable', 'the store did not answer in time');
    return this.#reach(revision, asked, timeoutMs);
  }

  /**
   * After a pause of this process, its timers fire before it reads the answers that came meanwhile, and a silence from
   * before the pause would count as one of now. The monotonic clock stands still while the machine sleeps, so an old
   * proof would look new. The wall clock does not; slewing moves both. One that was set looks like a sleep, which costs
   * one proof.
   */
  #noticePause(): void {
    const now = this.#now();
    const offset = this.#wallNow() - now;
    const hasSlept = Math.abs(offset - this.#clockOffset) > MAX_AGE_MS;
    this.#clockOffset = offset;
    if (!hasSlept && now - this.#cameAt <= PAUSE_MS) return;
    this.#cameAt = Math.max(now, this.#cameAt);
    this.#resumedAt = now;
    this.#provenAt = Number.NEGATIVE_INFINITY;
    this.#silentAt = Number.NEGATIVE_INFINITY;
  }

  async #ask(): Promise<Revision> {
    try {
      const revision = await this.#store.revision();
      this.#answered();
      return revision;
    } catch (error) {
      if (!isSilence(error)) this.#answered();
      if (isReplaced(error)) this.#isReplaced = true;
      throw error;
    }
  }

  #answered(): void {
    this.#answeredAt = this.#now();
    this.#silentAt = Number.NEGATIVE_INFINITY;
  }

  async #reach(revision: Revision, asked: number, timeoutMs: number): Promise<boolean> {
    for (const part of this.#parts) {
      if (part.revision >= revision) continue;
      const left = timeoutMs - (this.#now() - asked);
      if (left <= 0 || !(await part.waitFor(revision, left))) return false;
    }
    this.#proven(asked, revision);
    return true;
  }

  /** For a store whose revision is known without a request. */
  #proveFromMemory(): boolean {
    const revision = this.#store.knownRevision?.();
    if (revision === undefined || !this.#hasApplied(revision)) return false;
    this.#silentAt = Number.NEGATIVE_INFINITY;
    this.#proven(this.#now(), revision);
    return true;
  }

  #hasApplied(revision: Revision): boolean {
    return this.#parts.every((part) => part.ready !== false && part.revision >= revision);
  }

  /** Several run at once when the store is slow: each proves a later moment. */
  async #prove(): Promise<void> {
    if (this.#running >= MAX_PROOFS_RUNNING) return;
    this.#running += 1;
    this.#noticePause();
    const asked = this.#now();
    const silence = setTimeout(() => this.#noAnswer(asked), UNREACHABLE_AFTER_MS);
    silence.unref();
    try {
      const revision = await this.#ask();
      clearTimeout(silence);
      await this.#reach(revision, asked, PROOF_MS);
    } catch {
      // `catchUp` reports the error to its callers.
      this.#noAnswer(asked);
    } finally {
      clearTimeout(silence);
      this.#running -= 1;
    }
  }

  #noAnswer(asked: number): void {
    this.#noticePause();
    if (asked < this.#resumedAt) return;
    if (this.#isReplaced || this.#answeredAt >= asked) return;
    this.#silentAt = this.#now();
    this.#wake();
  }

  #proven(asked: number, revision: Revision): void {
    this.#noticePause();
    if (asked < this.#resumedAt || asked <= this.#provenAt) return;
    this.#provenAt = asked;
    this.#provenRevision = revision;
    this.#wake();
  }

  #wake(): void {
    if (this.#isReplaced || this.#waiters.size === 0 || !this.#hasApplied(this.#provenRevision)) return;
    for (const waiter of this.#waiters) {
      if (!this.isUnreachable && waiter.since > this.#provenAt) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}

const isSilence = (error: unknown): boolean => error instanceof StorageError && error.code === 'unavailable';
const isReplaced = (error: unknown): boolean => error instanceof StorageError && error.code === 'replaced';
