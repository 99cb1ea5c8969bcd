import { backoff, pause } from '../lib/backoff.ts';
import type { AbortableRequest } from '../lib/work-queue.ts';

/** What an attempt returns when another writer came first, and nothing was written. */
export const CONFLICT = Symbol('conflict');

/**
 * Writes to an object wait for each other, in the order of their calls: each reads what the one before it stored, so
 * the writers of one process never conflict. Writers of other processes can. Then the attempt is made again, until it
 * succeeds or fails for another reason, or until its request has ended. So a lost race is a 409 only for a writer that
 * expects a resourceVersion (AP-24).
 *
 * An attempt must not wait for another write to its object. A request that ends while it waits leaves the queue. A
 * queue exists only while its object is written to, and is no longer than the number of requests in flight, which flow
 * control limits.
 */
export class WriteQueue {
  /** The writes that wait, by the key of their object. */
  readonly #waiting = new Map<string, Set<() => void>>();

  async run<T>(key: string, attempt: () => Promise<T | typeof CONFLICT>, request?: AbortableRequest): Promise<T> {
    await this.#enter(key, request);
    try {
      for (let conflicts = 1; ; conflicts++) {
        const result = await attempt();
        if (result !== CONFLICT) return result;
        await pauseAfter(conflicts, request);
      }
    } finally {
      this.#leave(key);
    }
  }

  async #enter(key: string, request: AbortableRequest | undefined): Promise<void> {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      this.#waiting.set(key, new Set());
      return;
    }
    const signal = request?.signal;
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = (): void => {
      waiting.delete(resolve);
      reject(signal?.reason);
    };
    waiting.add(resolve);
    signal?.addEventListener('abort', abort);
    await promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  #leave(key: string): void {
    const waiting = this.#waiting.get(key);
    const [next] = waiting ?? [];
    if (next === undefined) {
      this.#waiting.delete(key);
      return;
    }
    waiting?.delete(next);
    next();
  }
}

const PAUSE_MS = { first: 1, most: 32, jitter: 1 };

/**
 * Random, so that two processes do not conflict in step. Short: a process that writes to the object all the time does
 * not pause. Rejects when the request has ended.
 */
export async function pauseAfter(conflicts: number, request: AbortableRequest | undefined): Promise<void> {
  const signal = request?.signal;
  await pause(backoff(conflicts, PAUSE_MS), { signal });
  signal?.throwIfAborted();
}
