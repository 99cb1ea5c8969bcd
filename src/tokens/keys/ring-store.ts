import { pause } from '../../lib/backoff.ts';
import { isJsonObject } from '../../lib/json.ts';
import { JWS_ALGORITHMS } from '../../lib/jws-algorithms.ts';
import { UnsafeFile } from '../../lib/secret-file.ts';
import { type Guard, type KeyValue, leadLost, StorageError, type Store } from '../../storage/contract.ts';
import { parseJsonObject } from '../jws.ts';
import { type EncryptionKey, IF_LOST } from './encryption-key.ts';
import type { KeyRecord, Revocation, RingState } from './ring-state.ts';

/**
 * Outside of the registry, so no kind, cache or API reads the keys. The whole ring is one value, so concurrent changes
 * of it have one winner and no reader sees half of a change.
 */
const RING_PREFIX = '/internal/signing-keys/';
export const RING_KEY = `${RING_PREFIX}ring`;

const VERSION = 1;
const RETRY_MS = 500;

export interface StoredRing {
  readonly state: RingState;
  readonly revision: number;
}

interface FollowOptions {
  readonly signal: AbortSignal;
  readonly use: (stored: StoredRing) => Promise<void>;
  /** Called when `use` has had all changes up to this revision. */
  readonly reached: (revision: number) => void;
  readonly report: (error: unknown) => void;
}

export type RingStore = ReturnType<typeof createRingStore>;

/** The ring in the store: encrypted, and rejected unless it was encrypted with our key. */
export function createRingStore(store: Pick<Store, 'get' | 'write' | 'watch' | 'revision'>, key: EncryptionKey) {
  const decode = ({ value, modRevision }: Pick<KeyValue, 'value' | 'modRevision'>): StoredRing => ({
    state: unseal(value, key),
    revision: modRevision,
  });

  async function read(): Promise<StoredRing | undefined> {
    const stored = await store.get(RING_KEY);
    return stored && decode(stored);
  }

  return {
    read,

    /**
     * Replaces the ring at this revision; undefined when another writer was faster. With guards it is a write of the
     * leader, and throws when another replica leads.
     */
    async write(
      state: RingState,
      over: StoredRing | undefined,
      guards: readonly Guard[] = [],
    ): Promise<StoredRing | undefined> {
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

    /** Calls `use` with the ring, and with it after every change, until the signal. What cannot be read is reported. */
    async follow({ signal, use, reached, report }: FollowOptions): Promise<void> {
      while (!signal.aborted) {
        try {
          // The revision first: a watch from the revision of the last change would need history that is compacted.
          const from = await store.revision();
          const stored = await read();
          if (stored === undefined) report(removed());
          else await use(stored);
          reached(from);
          for await (const { changes, revision } of store.watch(RING_PREFIX, from, signal)) {
            const last = changes.findLast(({ key }) => key === RING_KEY);
            if (last?.type === 'put') await use(decode(last));
            else if (last !== undefined) report(removed());
            reached(revision);
          }
          if (!signal.aborted) return;
        } catch (error) {
          if (signal.aborted || (error instanceof StorageError && error.code === 'closed')) return;
          report(error);
          await pause(RETRY_MS, { ref: false });
        }
      }
    },
  };
}

const removed = (): Error => new Error('the signing keys were removed from the store');

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
      `The signing keys in the store are encrypted with another key than this one. Give the file of that key with --encryption-key-file. ${IF_LOST}`,
    );
  }
  const plain = key.unseal(Buffer.from(envelope.sealed, 'base64'), RING_KEY);
  const state = plain && parseJsonObject(plain);
  if (state === undefined || !Array.isArray(state.keys) || !state.keys.every(isRecord)) {
    throw new StorageError('unreadable', 'the signing keys in the store are damaged');
  }
  const { revocations } = state;
  return { keys: state.keys, ...(Array.isArray(revocations) ? { revocations: revocations.filter(isRevocation) } : {}) };
}

const isRevocation = (value: unknown): value is Revocation =>
  isJsonObject(value) && typeof value.at === 'number' && typeof value.until === 'number';

/** In a rolling update a replica of another version, with the same key, may seal records of another form. */
function isRecord(value: unknown): value is KeyRecord {
  return (
    isJsonObject(value) &&
    typeof value.kid === 'string' &&
    JWS_ALGORITHMS.some((algorithm) => algorithm === value.algorithm) &&
    ['next', 'current', 'retired'].includes(String(value.state)) &&
    typeof value.publicKey === 'string' &&
    typeof value.created === 'number' &&
    typeof value.lifetimeSeconds === 'number'
  );
}
