import { StorageError } from '../contract.ts';
import { KeySpace } from './key-space.ts';
import type { Members, Patience } from './members.ts';
import { CREATE_REVISION, type EtcdKeyValue, TXN } from './messages.ts';

/** What the engine keeps beside the data, the same for every replica. */
export interface StoreMeta {
  /** See KeySpace. */
  readonly offset: number;
  /** The oldest revision that can be read: what came before happened in another store. 0 where there was none. */
  readonly oldest: number;
  /** When it was last written, in etcd's count. Every write demands that this still holds. */
  readonly modRevision: number;
}

const FORMAT = 1;

export const encodeMeta = ({ offset, oldest }: Pick<StoreMeta, 'offset' | 'oldest'>): Uint8Array =>
  Buffer.from(JSON.stringify({ format: FORMAT, offset, oldest }));

/** Finds what is kept, or makes it: of replicas that start together one does. */
export async function readMeta(members: Members, prefix: string, patience: Patience): Promise<StoreMeta> {
  const key = new KeySpace(prefix, 0).metaKey;
  const { succeeded, header, responses } = await members.ask(
    TXN,
    {
      compare: [{ target: CREATE_REVISION, key, createRevision: 0 }],
      success: [{ put: { key, value: encodeMeta({ offset: 0, oldest: 0 }) } }],
      failure: [{ range: { key } }],
    },
    patience,
    { doing: 'be opened' },
  );
  if (succeeded) return { offset: 0, oldest: 0, modRevision: header?.revision ?? 0 };
  const kept = responses[0]?.range?.kvs[0];
  if (kept === undefined) throw new StorageError('unavailable', 'etcd gave an answer that makes no sense');
  return decodeMeta(kept, `${prefix}/meta`);
}

function decodeMeta({ value, modRevision }: EtcdKeyValue, where: string): StoreMeta {
  let meta: { format?: unknown; offset?: unknown; oldest?: unknown };
  try {
    meta = Object(JSON.parse(Buffer.from(value).toString('utf8')));
  } catch (cause) {
    throw new StorageError('unreadable', `what etcd holds at ${where} is not Clusterpass's`, { cause });
  }
  const { format, offset, oldest } = meta;
  if (typeof format === 'number' && format > FORMAT) {
    throw new StorageError('unreadable', `${where} in etcd was written by a newer release (format ${format})`);
  }
  const isCount = (n: unknown): n is number => Number.isSafeInteger(n) && Number(n) >= 0;
  if (format !== FORMAT || !isCount(offset) || !isCount(oldest)) {
    throw new StorageError('unreadable', `what etcd holds at ${where} is not Clusterpass's`);
  }
  return { offset, oldest, modRevision };
}
