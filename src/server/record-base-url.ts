import type { Logger } from '../observability/logger.ts';
import { StorageError, type Store } from '../storage/contract.ts';

const BASE_URL_KEY = '/internal/base-url';
const ATTEMPTS = 16;

/**
 * Stores the base URL of this server, and warns if the one of the last start was another: replicas that have different
 * ones refuse each other's tokens. It is no error, because the base URL of an installation can be changed.
 */
export async function recordBaseUrl(
  store: Pick<Store, 'get' | 'write'>,
  baseUrl: string,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const current = await store.get(BASE_URL_KEY);
    const before = current && Buffer.from(current.value).toString();
    if (before === baseUrl) return;
    const { ok } = await store.write({
      key: BASE_URL_KEY,
      value: Buffer.from(baseUrl),
      expect: current === undefined ? { absent: true } : { modRevision: current.modRevision },
    });
    if (!ok) continue;
    if (before !== undefined) {
      const text = 'the store was served with another --base-url: passes with that issuer are refused here';
      logger.warn({ baseUrl, before, advice: 'set the same --base-url for all replicas' }, text);
    }
    return;
  }
  throw new StorageError('unavailable', `${BASE_URL_KEY} was changed by others in each of ${ATTEMPTS} attempts`);
}
