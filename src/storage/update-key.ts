import { type Expectation, type KeyValue, StorageError, type Store } from './contract.ts';

/** The condition that a key is still as it was read; undefined is a key that did not exist. */
export const asRead = (read: Pick<KeyValue, 'modRevision'> | undefined): Expectation =>
  read === undefined ? { absent: true } : { modRevision: read.modRevision };

const ATTEMPTS = 16;

/**
 * Replaces the value of a key that other processes change, too. `next` gets the present value, and returns undefined if
 * that can stay. Resolves with the value before.
 */
export async function updateKey(
  store: Pick<Store, 'get' | 'write'>,
  key: string,
  next: (before: Uint8Array | undefined) => Uint8Array | undefined,
): Promise<Uint8Array | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const read = await store.get(key);
    const value = next(read?.value);
    if (value === undefined || (await store.write({ key, value, expect: asRead(read) })).ok) return read?.value;
  }
  throw new StorageError('unavailable', `${key} was changed by others in each of ${ATTEMPTS} attempts`);
}
