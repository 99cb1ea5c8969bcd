import type { Revision } from './contract.ts';

/** How far a part of this process has applied the changes of the store, in order. */
export interface AppliedRevision {
  /** All changes up to this revision have been applied. */
  readonly revision: Revision;
  /** False while it has gone back to a past state, and has not caught up with what it had applied before. */
  readonly ready?: boolean;
  /** Resolves true when this revision has been applied, false after the timeout or when the part has stopped. */
  waitFor(revision: Revision, timeoutMs?: number): Promise<boolean>;
}

interface Waiter {
  readonly revision: Revision;
  /** On the clock of `performance`. */
  readonly deadline: number;
  readonly resolve: (reached: boolean) => void;
}

/** An applied revision with the calls that wait for it to advance. */
export class RevisionWaiters implements AppliedRevision {
  #waiters: Waiter[] = [];
  #timeout: { readonly timer: NodeJS.Timeout; readonly deadline: number } | undefined;
  #revision: Revision = 0;
  #ended = false;

  get revision(): Revision {
    return this.#revision;
  }

  /** Also to an earlier revision: a cache that is refilled begins in the past. */
  moveTo(revision: Revision): void {
    this.#revision = revision;
    const waiters = this.#waiters;
    if (waiters.length === 0) return;
    this.#waiters = waiters.filter((waiter) => waiter.revision > revision);
    for (const waiter of waiters) if (waiter.revision <= revision) waiter.resolve(true);
  }

  async waitFor(revision: Revision, timeoutMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    if (this.#revision >= revision) return true;
    if (this.#ended) return false;
    const deadline = performance.now() + timeoutMs;
    return new Promise((resolve) => {
      this.#waiters.push({ revision, deadline, resolve });
      this.#setTimeout(deadline);
    });
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timeout?.timer);
    for (const { resolve } of this.#waiters) resolve(false);
    this.#waiters = [];
  }

  /** One timer for all waiters: every write waits here for a moment, and setting a timer would take longer. */
  #setTimeout(deadline: number): void {
    if (deadline === Number.POSITIVE_INFINITY) return;
    if (this.#timeout !== undefined && this.#timeout.deadline <= deadline) return;
    clearTimeout(this.#timeout?.timer);
    const timer = setTimeout(() => this.#expire(), Math.max(0, deadline - performance.now()));
    timer.unref();
    this.#timeout = { timer, deadline };
  }

  #expire(): void {
    this.#timeout = undefined;
    const now = performance.now();
    const expired = this.#waiters.filter(({ deadline }) => deadline <= now);
    this.#waiters = this.#waiters.filter(({ deadline }) => deadline > now);
    for (const { resolve } of expired) resolve(false);
    for (const { deadline } of this.#waiters) this.#setTimeout(deadline);
  }
}
