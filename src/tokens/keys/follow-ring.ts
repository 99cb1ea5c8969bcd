import { setTimeout as delay } from 'node:timers/promises';
import { StorageError, type Store } from '../../storage/contract.ts';
import { RING_KEY, RING_PREFIX, type SealedRing, type StoredRing } from './sealed-ring.ts';

export interface FollowOptions {
  readonly store: Pick<Store, 'watch'>;
  readonly sealed: Pick<SealedRing, 'read' | 'open'>;
  readonly from: number;
  readonly signal: AbortSignal;
  readonly use: (stored: StoredRing) => Promise<void>;
  readonly report: (error: unknown) => void;
}

const RETRY_MS = 500;

/** Hands over every change of the ring in the store, until the signal. What can not be read leaves the ring as it was. */
export async function followRing({ store, sealed, from, signal, use, report }: FollowOptions): Promise<void> {
  let after = from;
  while (!signal.aborted) {
    try {
      for await (const { changes, revision } of store.watch(RING_PREFIX, after, signal)) {
        const last = changes.findLast(({ key }) => key === RING_KEY);
        if (last?.type === 'put') await use(sealed.open(last));
        else if (last !== undefined) report(new Error('the signing keys were removed from the store'));
        after = revision;
      }
      if (!signal.aborted) return;
    } catch (error) {
      if (signal.aborted || (error instanceof StorageError && error.code === 'closed')) return;
      report(error);
      await delay(RETRY_MS, undefined, { ref: false });
      // The changes in between may be gone, but only the last one counts.
      const stored = await sealed.read().catch(() => undefined);
      if (stored !== undefined) {
        await use(stored).catch(report);
        after = Math.max(after, stored.revision);
      }
    }
  }
}
