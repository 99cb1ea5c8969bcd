import { ApiError } from '../api/status.ts';
import { Cache } from '../lib/cache.ts';
import type { Logger } from '../observability/logger.ts';
import { storageErrorIn } from './storage-errors.ts';
import type { StoredObject } from './stored-object.ts';

/** Failures of more objects than these are logged again. */
const MAX_REPORTED = 1_000;

/**
 * For a sweep over many objects: logs the failure of an object, once for each of its versions. Throws an error of the
 * store that the other objects would meet, too.
 */
export function createFailureReports(logger: Pick<Logger, 'warn'>): (entry: StoredObject, error: unknown) => void {
  const reported = new Cache<string, number>({ maxEntries: MAX_REPORTED });
  return (entry, error) => {
    // Written by others: the next call decides again.
    if (error instanceof ApiError && [404, 409].includes(error.status.code)) return;
    const code = storageErrorIn(error)?.code;
    if (code !== undefined && code !== 'too-large' && code !== 'unreadable') throw error;
    const { key, revision, kind, namespace, name } = entry;
    if (reported.get(key) === revision) return;
    reported.set(key, revision);
    logger.warn({ err: error, resource: kind.resource, namespace, name }, 'an object could not be swept');
  };
}
