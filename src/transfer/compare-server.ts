import type { Catalog } from '../api/catalog.ts';
import { collectionPrefix, type Kind, storageKey } from '../api/kind.ts';
import { inParallel } from '../lib/promises.ts';
import type { Revision, StoreReads } from '../storage/contract.ts';

/** Lists a path at a running server, at one resourceVersion. */
export type ListAt = (path: string) => Promise<ServedList>;

export interface ServedList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly {
    readonly metadata: {
      readonly name: string;
      readonly namespace?: string;
      readonly resourceVersion: string;
    };
  }[];
}

const CONCURRENCY = 8;

/** Compares the caches of a server with the store: each collection at the revision of the server's list. */
export async function compareServer(
  { store, catalog, productName }: { store: StoreReads; catalog: Catalog; productName: string },
  listAt: ListAt,
): Promise<{ compared: number; problems: string[] }> {
  const problems: string[] = [];
  let compared = 0;
  const compare = async (kind: Kind, cluster: string): Promise<ServedList> => {
    const root = kind.inCluster ? `/${productName}/${cluster}` : '';
    const group = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
    const served = await listAt(`${root}${group}/${kind.resource}`);
    const revision = Number(served.metadata.resourceVersion);
    const stored = await versionsIn(store, collectionPrefix(kind, cluster, ''), revision);
    const cached = new Map(
      served.items.map(({ metadata: { name, namespace = '', resourceVersion } }) => [
        storageKey(kind, { cluster, namespace, name }),
        Number(resourceVersion),
      ]),
    );
    compared += stored.size;
    for (const key of new Set([...stored.keys(), ...cached.keys()])) {
      if (stored.get(key) !== cached.get(key)) {
        problems.push(`${key}: the store has ${at(stored.get(key))}, the server ${at(cached.get(key))}`);
      }
    }
    return served;
  };
  // Issued tokens are listed for their requester only, and signing keys are not listed from their stored objects.
  const stored = catalog.kinds.filter((kind) => kind !== catalog.signingKeys && kind !== catalog.issuedTokens);
  for (const kind of stored.filter((one) => !one.inCluster && one !== catalog.clusters)) await compare(kind, '');
  const clusters = (await compare(catalog.clusters, '')).items.map(({ metadata }) => metadata.name);
  await inParallel(clusters, CONCURRENCY, async (cluster) => {
    for (const kind of stored.filter((one) => one.inCluster)) await compare(kind, cluster);
  });
  return { compared, problems };
}

const at = (revision: Revision | undefined): string => (revision === undefined ? 'none' : `version ${revision}`);

async function versionsIn(store: StoreReads, prefix: string, revision: Revision): Promise<Map<string, Revision>> {
  const { items } = await store.list({ prefix, revision });
  return new Map(items.map(({ key, modRevision }) => [key, modRevision]));
}
