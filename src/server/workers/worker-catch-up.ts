import { pause } from '../../lib/backoff.ts';
import { firstWithin } from '../../lib/promises.ts';
import { SharedCall } from '../../lib/shared-call.ts';
import type { Rpc } from '../../lib/worker-rpc.ts';
import { type Freshness, MAX_AGE_MS } from '../../storage/freshness.ts';
import type { PrimaryMethods, WorkerMethods } from './worker-methods.ts';

/** A write shares the poll of the write before it for this long, then starts a poll itself. */
const OVERLAP_MS = 100;
/** For a worker that starts: it reads the whole fleet from a store that is busy with other workers. */
const START_MS = 30_000;

type CaughtUp = Pick<WorkerMethods, 'catchUp'>;
type Written = Pick<PrimaryMethods, 'decides' | 'wrote'>;

/** The primary's side: asks the other workers to catch up with the store when one of them has written. */
export class WorkerCatchUp {
  readonly #maxMs: number;
  /** The workers that may decide from memory. */
  readonly #deciding = new Set<Rpc<CaughtUp>>();

  constructor(maxMs: number = MAX_AGE_MS) {
    this.#maxMs = maxMs;
  }

  methodsFor(worker: Rpc<CaughtUp>): Written {
    worker.onClose(() => this.#deciding.delete(worker));
    return {
      decides: () => void this.#deciding.add(worker),
      wrote: async () => {
        const others = [...this.#deciding].filter((other) => other !== worker);
        // A worker that has exited acts on nothing any more.
        const answers = others.map((other) => other.call('catchUp', undefined).catch(() => undefined));
        await firstWithin(this.#maxMs, Promise.all(answers));
      },
    };
  }
}

/** A worker's side: how it and the other workers of its address keep up with each other's writes (docs/adr/0024). */
export class Siblings {
  readonly #primary: Rpc<Written>;
  readonly #maxMs: number;
  readonly #seen = new SharedCall(() => this.#ask('wrote'), { overlapMs: OVERLAP_MS });
  #freshness: Pick<Freshness, 'catchUp'> | undefined;

  constructor(primary: Rpc<Written>, maxMs: number = MAX_AGE_MS) {
    this.#primary = primary;
    this.#maxMs = maxMs;
  }

  readonly methods: CaughtUp = {
    // After a read that failed, this worker may decide by its last proof until that is too old.
    catchUp: async () => void (await this.#freshness?.catchUp(this.#maxMs).catch(() => pause(this.#maxMs))),
  };

  /** Resolves when the other workers act on what this one has written. */
  readonly afterWrite = (): Promise<void> => this.#seen.call();

  /** Called before this worker decides anything: from now on, the writes of others wait for it. */
  async decideFrom(freshness: Pick<Freshness, 'catchUp'>): Promise<void> {
    this.#freshness = freshness;
    // Writes before its answer did not wait for this worker, so it reads them now.
    await this.#ask('decides');
    await freshness.catchUp(START_MS);
  }

  /** A worker that gets no answer for so long decides nothing from memory before it has caught up. */
  async #ask(method: 'wrote' | 'decides'): Promise<void> {
    await firstWithin(
      this.#maxMs,
      this.#primary.call(method, undefined).catch(() => undefined),
    );
  }
}
