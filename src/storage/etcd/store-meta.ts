import { type Revision, StorageError } from '../contract.ts';
import { toStorageError } from './etcd-errors.ts';
import { KeySpace } from './key-space.ts';
import { type CallTimeout, type EtcdAccess, Members } from './members.ts';
import { CREATE_REVISION, type EtcdKeyValue, MOD_REVISION, RANGE, TXN } from './messages.ts';

/** Metadata of the engine, stored beside the data and the same for every replica. */
export interface StoreMeta {
  /** See KeySpace. */
  readonly offset: number;
  /** The oldest readable revision after an import: earlier ones happened in another store. 0 without an import. */
  readonly oldest: number;
  /** The etcd revision of its last write. Every write of the store demands that it is still this one. */
  readonly modRevision: number;
}

const FORMAT = 1;
const SEED_TIMEOUT: CallTimeout = { attemptMs: 3_000, totalMs: 10_000 };

const encodeMeta = ({ offset, oldest }: Pick<StoreMeta, 'offset' | 'oldest'>): Uint8Array =>
  Buffer.from(JSON.stringify({ format: FORMAT, offset, oldest }));

/** Reads the metadata, and creates it in a new store. Of replicas that start together, one creates it. */
export async function readMeta(members: Members, prefix: string, timeout: CallTimeout): Promise<StoreMeta> {
  const key = new KeySpace(prefix, 0).metaKey;
  const { succeeded, header, responses } = await members.callIdempotent(
    TXN,
    {
      compare: [{ target: CREATE_REVISION, key, createRevision: 0 }],
      success: [{ put: { key, value: encodeMeta({ offset: 0, oldest: 0 }) } }],
      failure: [{ range: { key } }],
    },
    timeout,
    { doing: 'be opened' },
  );
  if (succeeded) return { offset: 0, oldest: 0, modRevision: header?.revision ?? 0 };
  const found = responses[0]?.range?.kvs[0];
  if (found === undefined) throw new StorageError('unavailable', 'etcd sent a response without the requested key');
  return decodeMeta(found, `${prefix}/meta`);
}

/** Rejects a prefix without data, e.g. a misspelled one. */
export async function requireData(members: Members, prefix: string, timeout: CallTimeout): Promise<void> {
  const space = new KeySpace(prefix, 0);
  const request = { key: space.key('/'), rangeEnd: space.end('/'), limit: 1, keysOnly: true };
  const { kvs } = await members.callIdempotent(RANGE, request, timeout, { doing: 'be read' });
  if (kvs.length > 0) return;
  throw new StorageError('unreadable', `nothing is stored under the prefix ${prefix} of etcd: correct --store`);
}

function decodeMeta({ value, modRevision }: EtcdKeyValue, path: string): StoreMeta {
  let meta: { format?: unknown; offset?: unknown; oldest?: unknown };
  try {
    meta = Object(JSON.parse(Buffer.from(value).toString('utf8')));
  } catch (cause) {
    throw new StorageError('unreadable', `the value of ${path} in etcd was not written by Clusterpass`, { cause });
  }
  const { format, offset, oldest } = meta;
  if (typeof format === 'number' && format > FORMAT) {
    throw new StorageError('unreadable', `${path} in etcd was written by a newer release (format ${format})`);
  }
  const isCount = (n: unknown): n is number => Number.isSafeInteger(n) && Number(n) >= 0;
  if (format !== FORMAT || !isCount(offset) || !isCount(oldest)) {
    throw new StorageError('unreadable', `the value of ${path} in etcd was not written by Clusterpass`);
  }
  return { offset, oldest, modRevision };
}

/**
 * Seeds the revision of a store: every later one is greater than this one, and those before the seed are unreadable.
 * etcd's counter cannot be set, so the metadata holds the difference. Processes that have the store open fail, and have
 * to open it again.
 */
export async function seedEtcdRevision(access: EtcdAccess, prefix: string, revision: Revision): Promise<void> {
  const members = new Members(access);
  try {
    const meta = await readMeta(members, prefix, SEED_TIMEOUT);
    const key = new KeySpace(prefix, 0).metaKey;
    const read = await members.callIdempotent(RANGE, { key, keysOnly: true }, SEED_TIMEOUT, { doing: 'be read' });
    const now = read.header?.revision ?? 0;
    const offset = Math.max(meta.offset, revision + 1 - now);
    const { succeeded } = await members.callOnce(
      TXN,
      TXN.request.encode({
        compare: [{ target: MOD_REVISION, key, modRevision: meta.modRevision }],
        success: [{ put: { key, value: encodeMeta({ offset, oldest: now + offset }) } }],
      }),
      SEED_TIMEOUT.totalMs,
      { doing: 'take the seed revision' },
    );
    if (!succeeded) throw new StorageError('unavailable', 'another process imports into the same prefix of etcd');
  } catch (error) {
    throw toStorageError(error, 'take the seed revision');
  } finally {
    members.close();
  }
}
