import { isDeepStrictEqual } from 'node:util';
import { type ApiObject, apiVersionOf, fleetKey, type Kind, kindPrefix } from '../../api/kind.ts';
import { ApiError } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Leadership } from '../../storage/contract.ts';
import { publicJwk } from './key-material.ts';
import type { KeyEntry, StoredKeyRing } from './key-ring.ts';

export interface SigningKeyPublisherParts {
  readonly kind: Kind;
  readonly keyRing: Pick<StoredKeyRing, 'entries'>;
  readonly reader: ObjectReader;
  readonly writer: Pick<ObjectWriter, 'create' | 'update' | 'remove'>;
  readonly leadership: Pick<Leadership, 'leads'>;
  readonly logger: Pick<Logger, 'error'>;
}

export type SigningKeyPublisher = ReturnType<typeof createSigningKeyPublisher>;

/** Publishes the keys as SigningKey objects, for list and watch. The program does not read them. */
export function createSigningKeyPublisher(parts: SigningKeyPublisherParts) {
  let last: Promise<void> = Promise.resolve();
  let reported = '';
  const publishOnce = async (): Promise<void> => {
    try {
      await writeObjects(parts);
      reported = '';
    } catch (error) {
      // Once for each problem: `maintain` tries again.
      if (reported === String(error)) return;
      reported = String(error);
      parts.logger.error({ err: error }, 'the SigningKey objects could not be written');
    }
  };
  /**
   * Writes the state of the ring to the objects. Never rejects: a change of the ring is in force without them, and its
   * caller must not repeat it. A failure is logged.
   */
  const publish = (): Promise<void> => {
    // One after the other, so that the last one writes the newest ring.
    last = last.then(publishOnce);
    return last;
  };
  return {
    publish,
    /** Publishes at the leader: the objects may differ, e.g. after a failure or another leader's death. */
    maintain: async () => {
      if (parts.leadership.leads()) await publish();
    },
  };
}

async function writeObjects({ kind, keyRing, reader, writer }: SigningKeyPublisherParts): Promise<void> {
  await reader.catchUp();
  const wanted = new Map(keyRing.entries().map((key) => [key.kid, signingKeyObject(kind, key)]));
  const published = [...reader.cache(kind).current.scan(kindPrefix(kind))];
  for (const entry of published) {
    if (wanted.has(entry.name)) continue;
    await ignoring(404, () => writer.remove(kind, entry, { dryRun: false }));
  }
  for (const [name, object] of wanted) {
    const key = fleetKey(name);
    // It is in the log, and the other keys are published all the same.
    if (reader.findUnreadable(kind, key) !== undefined) continue;
    const found = reader.find(kind, key)?.object();
    if (isDeepStrictEqual(found?.status, object.status)) continue;
    if (found === undefined) {
      // Another replica may create the same object at the same time.
      await ignoring(409, () => writer.create(kind, key, object, { dryRun: false }));
    } else {
      const change = ({ metadata }: ApiObject): ApiObject => ({ ...object, metadata });
      await ignoring(404, () => writer.update(kind, key, change, { dryRun: false, part: 'object' }));
    }
  }
}

export function signingKeyObject(kind: Kind, key: KeyEntry): ApiObject {
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

async function ignoring(code: number, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status.code !== code) throw error;
  }
}
