import { type Revision, StorageError } from '../contract.ts';
import { toStorageError } from './etcd-errors.ts';
import { KeySpace } from './key-space.ts';
import { type EtcdAccess, Members, type Patience } from './members.ts';
import { MOD_REVISION, RANGE, TXN } from './messages.ts';
import { encodeMeta, readMeta } from './store-meta.ts';

const PATIENCE: Patience = { tryMs: 3_000, totalMs: 10_000 };

/**
 * Makes every later revision of a store that holds nothing yet greater than this one, and what came before unreadable.
 * etcd's own counter can not be set, so the difference is kept beside the data. Who has the store open notices, and has
 * to open it anew.
 */
export async function seedEtcdRevision(access: EtcdAccess, prefix: string, revision: Revision): Promise<void> {
  const members = new Members(access);
  try {
    const meta = await readMeta(members, prefix, PATIENCE);
    const key = new KeySpace(prefix, 0).metaKey;
    const now =
      (await members.ask(RANGE, { key, keysOnly: true }, PATIENCE, { doing: 'be read' })).header?.revision ?? 0;
    const offset = Math.max(meta.offset, revision + 1 - now);
    const lifted = { offset, oldest: now + offset };
    const { succeeded } = await members.tell(
      TXN,
      TXN.request.encode({
        compare: [{ target: MOD_REVISION, key, modRevision: meta.modRevision }],
        success: [{ put: { key, value: encodeMeta(lifted) } }],
      }),
      PATIENCE.totalMs,
      'be lifted',
    );
    if (!succeeded) throw new StorageError('unavailable', 'another process moves into the same prefix of etcd');
  } catch (error) {
    throw toStorageError(error, 'be lifted');
  } finally {
    members.close();
  }
}
