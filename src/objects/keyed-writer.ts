import { type ApiObject, fleetKey, type Kind } from '../api/kind.ts';
import { ApiError } from '../api/status.ts';
import type { Guard } from '../storage/contract.ts';
import type { ObjectWriter } from './writer.ts';

export type ObjectChange = (current: ApiObject) => ApiObject;

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
 * that wait for it, only the newest is written. `update` writes the object of this name and uid by compare-and-swap;
 * its `change` runs again after a conflict.
 */
export function createKeyedWriter(
  update: (name: string, uid: string, change: ObjectChange) => Promise<unknown>,
  report: (problem: unknown, name: string) => void,
) {
  const waiting = new Map<string, Waiting>();
  const writing = new Map<string, Promise<void>>();
  let isStopped = false;

  function put(name: string, uid: string, change: ObjectChange): void {
    if (isStopped) return;
    waiting.set(name, { uid, change });
    startWrites();
  }

  /** Whether a change of the object waits. */
  function has(name: string): boolean {
    return waiting.has(name);
  }

  /** Drops what waits; resolves when the writes in flight have ended. */
  async function stop(): Promise<void> {
    isStopped = true;
    waiting.clear();
    await Promise.all(writing.values());
  }

  function startWrites(): void {
    for (const [name, change] of waiting) {
      if (writing.size >= MAX_CONCURRENT) break;
      // A second write of the same object would conflict with the first.
      if (writing.has(name)) continue;
      waiting.delete(name);
      writing.set(name, write(name, change));
    }
  }

  function write(name: string, { uid, change }: Waiting): Promise<void> {
    return Promise.try(update, name, uid, change)
      .then(
        () => {},
        (error) => {
          // Deleted meanwhile, perhaps created again, or changed too often. Its next event or finding writes again.
          const isGone = error instanceof ApiError && [404, 409].includes(error.status.code);
          if (!isGone && !isStopped) report(error, name);
        },
      )
      .finally(() => {
        writing.delete(name);
        startWrites();
      });
  }

  return { put, has, stop };
}
