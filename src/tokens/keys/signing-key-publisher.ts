import { type ApiObject, apiVersionOf, type Kind } from '../../api/kind.ts';
import { kindPrefix } from '../../api/object-key.ts';
import { ApiError } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import { publicJwk } from './jwk.ts';
import type { KeyEntry, StoredKeyRing } from './key-ring.ts';

/** Shows the keys as objects, so that people can list and watch them. Nothing reads them back. */
export interface SigningKeyPublisher {
  /** Makes the objects say what the ring is now. */
  sync(): Promise<void>;
}

export interface SigningKeyPublisherParts {
  readonly kind: Kind;
  readonly keyRing: Pick<StoredKeyRing, 'entries'>;
  readonly reader: ObjectReader;
  readonly writer: Pick<ObjectWriter, 'create' | 'update' | 'remove'>;
}

export function createSigningKeyPublisher(parts: SigningKeyPublisherParts): SigningKeyPublisher {
  let last: Promise<void> = Promise.resolve();
  return {
    sync() {
      // One after the other: the last to run has seen the newest ring.
      last = last.catch(() => {}).then(() => syncOnce(parts));
      return last;
    },
  };
}

async function syncOnce({ kind, keyRing, reader, writer }: SigningKeyPublisherParts): Promise<void> {
  await reader.catchUp();
  const wanted = new Map(keyRing.entries().map((key) => [key.kid, shownKey(kind, key)]));
  const shown = [...reader.cache(kind).current.scan(kindPrefix(kind))];
  for (const entry of shown) {
    if (wanted.has(entry.name)) continue;
    await unless(404, () => writer.remove(kind, entry, { dryRun: false }));
  }
  for (const [name, object] of wanted) {
    const objectKey = { cluster: '', namespace: '', name };
    if (reader.find(kind, objectKey) === undefined) {
      // Another replica may be showing the same key at the same time.
      await unless(409, () => writer.create(kind, objectKey, object, { dryRun: false }));
    } else {
      const change = ({ metadata }: ApiObject): ApiObject => ({ ...object, metadata });
      await unless(404, () => writer.update(kind, objectKey, change, { dryRun: false, part: 'object' }));
    }
  }
}

export function shownKey(kind: Kind, key: KeyEntry): ApiObject {
  const { kid, algorithm, state, created, signsFrom, expires } = key;
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name: kid },
    status: {
      state: `${state.charAt(0).toUpperCase()}${state.slice(1)}`,
      algorithm,
      created: toTimestamp(created),
      ...(signsFrom === undefined ? {} : { signsFrom: toTimestamp(signsFrom) }),
      ...(expires === undefined ? {} : { expires: toTimestamp(expires) }),
      publicKey: { ...publicJwk(key.verification) },
    },
  };
}

async function unless(code: number, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status.code !== code) throw error;
  }
}
