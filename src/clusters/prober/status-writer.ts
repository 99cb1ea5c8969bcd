import type { ApiObject } from '../../api/kind.ts';
import { ApiError } from '../../api/status.ts';
import { type Observation, withObservation } from './readiness.ts';

export interface StatusWriterOptions {
  /** Replaces the status of the cluster, compared and swapped; called again when another writer was faster. */
  readonly update: (name: string, uid: string, change: (current: ApiObject) => ApiObject) => Promise<unknown>;
  readonly report: (problem: unknown) => void;
}

interface Waiting {
  readonly uid: string;
  readonly observed: Observation;
}

/** Writers that come together share one commit of the store; more than this would only wait in its queue. */
const AT_ONCE = 16;

/** Brings what was observed into the store. Of what waits for its turn only the newest of each cluster is written. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #waiting = new Map<string, Waiting>();
  readonly #writing = new Set<string>();
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  put(name: string, uid: string, observed: Observation): void {
    if (this.#stopped) return;
    this.#waiting.set(name, { uid, observed });
    this.#pump();
  }

  /** Nothing more is taken; resolves when what is being written has been. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.clear();
    if (this.#writing.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #pump(): void {
    if (this.#writing.size >= AT_ONCE) return;
    for (const [name, waiting] of this.#waiting) {
      if (this.#writing.size >= AT_ONCE) break;
      // Its own write before this one would only make this one try twice.
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
      // Deleted, or deleted and made anew, in the meantime. Anything else is tried again after the next look,
      // because the store still does not hold what was found.
      const isGone = error instanceof ApiError && [404, 409].includes(error.status.code ?? 0);
      if (!isGone) this.#options.report(error);
    } finally {
      this.#writing.delete(name);
      if (this.#writing.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
      this.#pump();
    }
  }
}
