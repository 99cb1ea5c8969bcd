import { StorageError, type Store } from '../../storage/contract.ts';

/**
 * The longest lifetime that any token issued so far was granted, whatever the options say today. Who revokes a token
 * by nothing but its id can not say when it ends, so the revocation is kept for as long as any token could live.
 */
export interface LongestLifetime {
  /** Seconds. Asks the store: another replica may have been started with a longer one. */
  read(): Promise<number>;
}

/** Outside of the registry: no object, and nothing that anyone is told of. */
const KEY = '/internal/longest-token-lifetime';
const ATTEMPTS = 16;

/** Records this process's own limit before it issues the first token. It only ever grows. */
export async function openLongestLifetime(store: Pick<Store, 'get' | 'write'>, own: number): Promise<LongestLifetime> {
  for (let attempt = 1; ; attempt++) {
    const current = await store.get(KEY);
    if (current !== undefined && secondsIn(current.value) >= own) break;
    const { ok } = await store.write({
      key: KEY,
      value: Buffer.from(JSON.stringify({ seconds: own })),
      expect: current === undefined ? { absent: true } : { modRevision: current.modRevision },
    });
    if (ok) break;
    if (attempt >= ATTEMPTS) throw new StorageError('unavailable', `${KEY} is changed by others all the time`);
  }
  return {
    async read() {
      const current = await store.get(KEY);
      return Math.max(own, current === undefined ? 0 : secondsIn(current.value));
    },
  };
}

/** What can not be read is not guessed at: it would shorten revocations. */
function secondsIn(value: Uint8Array): number {
  const { seconds } = JSON.parse(Buffer.from(value).toString()) as { seconds?: unknown };
  if (typeof seconds !== 'number' || !(seconds > 0)) {
    throw new StorageError('unreadable', `what is stored at ${KEY} cannot be read`);
  }
  return seconds;
}
