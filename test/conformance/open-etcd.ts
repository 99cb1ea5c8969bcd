import { type EtcdStoreOptions, openEtcdStore } from '../../src/storage/etcd/open-etcd-store.ts';

type OpenedEtcd = Awaited<ReturnType<typeof openEtcdStore>>;

/** Opens stores, and closes all of them. */
export function opener() {
  const opened: OpenedEtcd[] = [];
  const open = async (options: EtcdStoreOptions): Promise<OpenedEtcd> => {
    const etcd = await openEtcdStore({ openWithinMs: 500, ...options });
    opened.push(etcd);
    return etcd;
  };
  const closeAll = () => Promise.all(opened.splice(0).map(({ store }) => store.close()));
  return { open, closeAll };
}
