import { afterAll, beforeAll } from 'vitest';
import type { Store } from '../../src/storage/contract.ts';
import { openEtcdStore } from '../../src/storage/etcd/open-etcd-store.ts';
import { seedEtcdRevision } from '../../src/storage/etcd/store-meta.ts';
import { describeWithEtcd, type Etcd, startEtcd } from './etcd-process.ts';
import type { StoreUnderTest } from './harness.ts';
import { importConformance, storeConformance } from './store-conformance.ts';

describeWithEtcd('one etcd, a prefix for each store', () => {
  let etcd: Etcd;
  let stores = 0;
  const prefixes = new WeakMap<Store, string>();
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.destroy());

  async function openAt(prefix: string): Promise<Store> {
    const { store } = await openEtcdStore({ endpoints: etcd.endpoints, prefix });
    prefixes.set(store, prefix);
    return store;
  }

  const engine: StoreUnderTest = {
    open: () => openAt(`/conformance-${stores++}`),
    async reopen(store) {
      await store.close();
      return openAt(prefixes.get(store) ?? '');
    },
    async seedRevision(store, revision) {
      await store.close();
      const prefix = prefixes.get(store) ?? '';
      await seedEtcdRevision({ endpoints: etcd.endpoints }, prefix, revision);
      return openAt(prefix);
    },
    // The data is below a prefix that no other test uses, and is removed with the server.
    destroy: (store) => store.close(),
  };
  storeConformance('etcd', engine);
  importConformance('etcd', engine);
});
