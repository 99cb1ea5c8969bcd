import type { Logger } from '../observability/logger.ts';
import type { Store } from '../storage/contract.ts';
import { updateKey } from '../storage/update-key.ts';

const BASE_URL_KEY = '/internal/base-url';

/**
 * Stores the base URL of this server, and warns if the one of the last start was another: replicas that have different
 * ones refuse each other's tokens. It is no error, because the base URL of an installation can be changed.
 */
export async function recordBaseUrl(
  store: Pick<Store, 'get' | 'write'>,
  baseUrl: string,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  const url = Buffer.from(baseUrl);
  const stored = await updateKey(store, BASE_URL_KEY, (found) => (found && url.equals(found) ? undefined : url));
  if (stored === undefined || url.equals(stored)) return;
  const before = Buffer.from(stored).toString();
  const text = 'the store was served with another --base-url: passes with that issuer are refused here';
  logger.warn({ baseUrl, before, advice: 'set the same --base-url for all replicas' }, text);
}
