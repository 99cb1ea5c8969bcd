import type { ApiObject } from '../../api/kind.ts';
import { ApiError } from '../../api/status.ts';
import { type Observation, withObservation } from './readiness.ts';

export interface StatusWriterOptions {
  /** Updates the status of the cluster by compare-and-swap; `change` runs again after a conflict. */
  readonly update: (name: string, uid: string, change: (current: ApiObject) => ApiObject) => Promise<unknown>;
  readonly report: (problem: unknown) => void;
}

interface Waiting {
  readonly uid: string;
  readonly observed: Observation;
}

/** Concurrent writes share one commit of the store; more than this would only wait in its queue. */
const MAX_CONCURRENT = 16;

/** Writes observations to the store. Of the observations that wait, only the newest of each cluster is written. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #waiting = new Map<string, Waiting>();
  readonly #writing = new Set<string>();
  #stopped = false;
  #onIdle: (() => void)[] = [];

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  put(name: string, uid: string, observed: Observation): void {
    if (this.#stopped) return;
    this.#waiting.set(name, { uid, observed });
    this.#startWrites();
  }

  /** Drops what waits; resolves when the writes in flight have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.clear();
    if (this.#writing.size > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  #startWrites(): void {
    if (this.#writing.size >= MAX_CONCURRENT) return;
    for (const [name, waiting] of this.#waiting) {
      if (this.#writing.size >= MAX_CONCURRENT) break;
      // A second write of the same cluster would conflict with the first.
      if (this.#writing.has(name)) continue;
      this.#waiting.delete(name);
      this.#writing.add(name);
      void this.#write(name, waiting);
    }
  }

  async #write(name: string, { uid, observed }: Waiting): Promise<void> {
    try {
      await this.#options.update(name, uid, (current) => withObservation(current, observed));
    } catch (error) {
      // The cluster was deleted meanwhile, or deleted and created again. Other errors need no retry here: the next
      // probe finds that the store does not hold its result, and writes it.
      const isGone = error instanceof ApiError && [404, 409].includes(error.status.code ?? 0);
      if (!isGone) this.#options.report(error);
    } finally {
      this.#writing.delete(name);
      if (this.#writing.size === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
      this.#startWrites();
    }
  }
}
