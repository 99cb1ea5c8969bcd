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
  readonly resolve: (reached: boolean) => void;
}

/** An applied revision with the calls that wait for it to advance. */
export class RevisionWaiters implements AppliedRevision {
  #waiters: Waiter[] = [];
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
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { revision, resolve };
    this.#waiters.push(waiter);
    if (timeoutMs === Number.POSITIVE_INFINITY) return promise;
    const timer = setTimeout(() => {
      this.#waiters = this.#waiters.filter((one) => one !== waiter);
      resolve(false);
    }, timeoutMs);
    timer.unref();
    return promise.finally(() => clearTimeout(timer));
  }

  end(): void {
    this.#ended = true;
    for (const { resolve } of this.#waiters) resolve(false);
    this.#waiters = [];
  }
}
