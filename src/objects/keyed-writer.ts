import type { ApiObject, Kind } from '../api/kind.ts';
import { fleetKey } from '../api/object-key.ts';
import { ApiError } from '../api/status.ts';
import type { Guard } from '../storage/contract.ts';
import type { ObjectWriter } from './writer.ts';

export type ObjectChange = (current: ApiObject) => ApiObject;

interface KeyedWriterOptions {
  /** Updates the object of this name and uid by compare-and-swap; `change` runs again after a conflict. */
  readonly update: (name: string, uid: string, change: ObjectChange) => Promise<unknown>;
  readonly report: (problem: unknown, name: string) => void;
}

/** For a KeyedWriter of the status of objects of the fleet. */
export const statusUpdate =
  (writer: Pick<ObjectWriter, 'update'>, kind: Kind, guards: () => readonly Guard[] = () => []) =>
  (name: string, uid: string, change: ObjectChange): Promise<unknown> =>
    writer.update(kind, fleetKey(name), change, {
      dryRun: false,
      part: 'status',
      preconditions: { uid },
      guards: guards(),
    });

interface Waiting {
  readonly uid: string;
  readonly change: ObjectChange;
}

/** Concurrent writes share one commit of the store; more than this would only wait in its queue. */
const MAX_CONCURRENT = 16;

/**
 * Writes what the server itself finds out about objects, later. One write at a time for each object; of the changes
 * that wait for it, only the newest is written.
 */
export class KeyedWriter {
  readonly #options: KeyedWriterOptions;
  readonly #waiting = new Map<string, Waiting>();
  readonly #writing = new Map<string, Promise<void>>();
  #stopped = false;

  constructor(options: KeyedWriterOptions) {
    this.#options = options;
  }

  put(name: string, uid: string, change: ObjectChange): void {
    if (this.#stopped) return;
    this.#waiting.set(name, { uid, change });
    this.#startWrites();
  }

  /** Whether a change of the object waits. */
  has(name: string): boolean {
    return this.#waiting.has(name);
  }

  /** Drops what waits; resolves when the writes in flight have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.clear();
    await Promise.all(this.#writing.values());
  }

  #startWrites(): void {
    for (const [name, waiting] of this.#waiting) {
      if (this.#writing.size >= MAX_CONCURRENT) break;
      // A second write of the same object would conflict with the first.
      if (this.#writing.has(name)) continue;
      this.#waiting.delete(name);
      this.#writing.set(name, this.#write(name, waiting));
    }
  }

  #write(name: string, { uid, change }: Waiting): Promise<void> {
    return Promise.try(this.#options.update, name, uid, change)
      .then(
        () => {},
        (error) => {
          // Deleted meanwhile, perhaps created again, or changed too often. Its next event or finding writes again.
          const isGone = error instanceof ApiError && [404, 409].includes(error.status.code);
          if (!isGone && !this.#stopped) this.#options.report(error, name);
        },
      )
      .finally(() => {
        this.#writing.delete(name);
        this.#startWrites();
      });
  }
}
