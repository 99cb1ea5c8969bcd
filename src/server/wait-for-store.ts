import { ApiError } from '../api/status.ts';
import { pause } from '../lib/backoff.ts';
import { storageErrorIn } from '../objects/storage-errors.ts';
import type { Logger } from '../observability/logger.ts';

/** The time of one attempt to open etcd. If it fails, the log says that this process waits. */
export const ATTEMPT_MS = 3_000;
const PAUSE_MS = 500;
const SAY_EVERY_MS = 3_000;

/**
 * Repeats a step of the start for as long as etcd is unreachable: replicas and etcd may be started in any order, and a
 * process that exits would only be started again. The step must be one that can be repeated. A signal ends the process.
 */
export function waitForStore(logger: Pick<Logger, 'warn' | 'info'>): <T>(step: () => Promise<T>) => Promise<T> {
  let saidAt = Number.NEGATIVE_INFINITY;
  return async (step) => {
    for (;;) {
      try {
        const result = await step();
        if (saidAt > 0) logger.info({}, 'the store is reachable, startup continues');
        saidAt = Number.NEGATIVE_INFINITY;
        return result;
      } catch (error) {
        const reason = reasonToWait(error);
        if (reason === undefined) throw error;
        if (performance.now() - saidAt >= SAY_EVERY_MS) {
          saidAt = performance.now();
          logger.warn(
            { reason },
            'waiting for the store: this server is not ready until it answers. Start etcd, or correct --store',
          );
        }
        await pause(PAUSE_MS);
      }
    }
  };
}

function reasonToWait(error: unknown): string | undefined {
  const cause = storageErrorIn(error);
  if (cause !== undefined) {
    return cause.code === 'unavailable' || cause.code === 'unknown-outcome' ? cause.message : undefined;
  }
  // The caches are behind the store.
  return error instanceof ApiError && (error.status.code === 503 || error.status.code === 504)
    ? error.message
    : undefined;
}
