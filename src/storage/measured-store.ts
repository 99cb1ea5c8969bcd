import type { Trace } from '../observability/protocol-trace.ts';
import { LEADER_KEY, type Store } from './contract.ts';

type StoreOperation = 'get' | 'list' | 'write' | 'revision' | 'compact';

/** Called when a call of the store has ended. */
type ObserveStore = (operation: StoreOperation, seconds: number, failed: boolean) => void;

type AfterWrite = () => Promise<void>;

/** The same store, with the duration of each call reported. A write returns when `afterWrite` has resolved. */
export function measuredStore(store: Store, observe: ObserveStore, afterWrite?: AfterWrite, trace?: Trace): Store {
  const measured = async <T>(operation: StoreOperation, call: Promise<T>): Promise<T> => {
    const from = performance.now();
    let failed = true;
    try {
      const result = await call;
      failed = false;
      return result;
    } finally {
      observe(operation, (performance.now() - from) / 1000, failed);
    }
  };
  return {
    get: (key, revision) => measured('get', store.get(key, revision)),
    list: (request) => measured('list', store.list(request)),
    async write(write) {
      const result = await measured('write', store.write(write));
      const fence = trace && write.guards?.find(({ key }) => key === LEADER_KEY);
      if (fence) trace?.('written', { ...fence.expect, ok: result.ok, revision: result.revision });
      if (result.ok) await afterWrite?.();
      return result;
    },
    watch: (prefix, after, signal) => store.watch(prefix, after, signal),
    revision: () => measured('revision', store.revision()),
    // Synchronous, so there is no duration to measure.
    knownRevision: () => store.knownRevision?.(),
    compact: (revision) => measured('compact', store.compact(revision)),
    close: () => store.close(),
  };
}
