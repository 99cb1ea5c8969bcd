import { UnsafeFile } from '../../lib/secret-file.ts';
import { type Guard, type KeyValue, StorageError, type Store } from '../../storage/contract.ts';
import { leadLost } from '../../storage/leadership.ts';
import { isJsonObject, parseJsonObject } from '../jws.ts';
import { ALGORITHMS } from './algorithms.ts';
import type { EncryptionKey } from './encryption-key.ts';
import type { KeyRecord, RingState } from './ring-state.ts';

/**
 * Where the keys are: outside of the registry, so no kind, cache or API ever comes near it. The whole ring is one
 * value, so every change of it has one winner and nobody sees half of one.
 */
export const RING_PREFIX = '/internal/signing-keys/';
export const RING_KEY = `${RING_PREFIX}ring`;

const VERSION = 1;

export interface StoredRing {
  readonly state: RingState;
  readonly revision: number;
}

/** The ring in the store: sealed, and believed only when it was sealed with our key. */
export interface SealedRing {
  read(): Promise<StoredRing | undefined>;
  /**
   * Undefined when somebody else was faster. `over` is what it takes the place of. With guards it is a write that only
   * the leader may make, and throws when another leads.
   */
  write(state: RingState, over: StoredRing | undefined, guards?: readonly Guard[]): Promise<StoredRing | undefined>;
  open(stored: Pick<KeyValue, 'value' | 'modRevision'>): StoredRing;
}

export function createSealedRing(store: Store, key: EncryptionKey): SealedRing {
  const open: SealedRing['open'] = ({ value, modRevision }) => ({
    state: unseal(value, key),
    revision: modRevision,
  });
  return {
    open,
    async read() {
      const stored = await store.get(RING_KEY);
      return stored && open(stored);
    },
    async write(state, over, guards = []) {
      const result = await store.write({
        key: RING_KEY,
        value: seal(state, key),
        expect: over === undefined ? { absent: true } : { modRevision: over.revision },
        guards,
      });
      if (result.ok) return { state, revision: result.revision };
      if (result.key !== RING_KEY) throw leadLost();
      return undefined;
    },
  };
}

function seal(state: RingState, key: EncryptionKey): Uint8Array {
  const sealed = key.seal(Buffer.from(JSON.stringify(state)), RING_KEY).toString('base64');
  return Buffer.from(JSON.stringify({ version: VERSION, encryptionKey: key.id, sealed }));
}

function unseal(value: Uint8Array, key: EncryptionKey): RingState {
  const envelope = parseJsonObject(Buffer.from(value));
  if (envelope?.version !== VERSION || typeof envelope.sealed !== 'string') {
    throw new StorageError(
      'unreadable',
      'the signing keys in the store were written by a newer release, or are damaged',
    );
  }
  if (envelope.encryptionKey !== key.id) {
    throw new UnsafeFile(
      'The signing keys in the store are encrypted with another key than this one. Give the file of that key with --encryption-key-file.',
    );
  }
  const plain = key.open(Buffer.from(envelope.sealed, 'base64'), RING_KEY);
  const state = plain && parseJsonObject(plain);
  if (state === undefined || !Array.isArray(state.keys) || !state.keys.every(isRecord)) {
    throw new StorageError('unreadable', 'the signing keys in the store are damaged');
  }
  return { keys: state.keys };
}

/** It was sealed by us; this is for a release that writes them otherwise. */
function isRecord(value: unknown): value is KeyRecord {
  return (
    isJsonObject(value) &&
    typeof value.kid === 'string' &&
    ALGORITHMS.some((algorithm) => algorithm === value.algorithm) &&
    ['next', 'current', 'retired'].includes(String(value.state)) &&
    typeof value.publicKey === 'string' &&
    typeof value.created === 'number' &&
    typeof value.lifetimeSeconds === 'number'
  );
}
