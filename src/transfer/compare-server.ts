import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import { collectionPrefix, storageKey } from '../api/object-key.ts';
import type { Revision, Store } from '../storage/contract.ts';

/** Lists at a running server, from its cache: the path below the root, and the parsed answer. */
export type ListAt = (path: string) => Promise<ServedList>;

export interface ServedList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion: string };
  }[];
}

const AT_ONCE = 8;

/**
 * Whether what a server has in its caches is what the store holds: each collection is listed there as it is at hand,
 * and compared with the store at the revision that the server says it is from.
 */
export async function compareServer(
  { store, catalog, productName }: { store: Store; catalog: Catalog; productName: string },
  listAt: ListAt,
): Promise<{ compared: number; problems: string[] }> {
  const problems: string[] = [];
  let compared = 0;
  const compare = async (kind: Kind, cluster: string): Promise<ServedList> => {
    const root = kind.inCluster ? `/${productName}/${cluster}` : '';
    const group = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
    const served = await listAt(`${root}${group}/${kind.resource}?resourceVersion=0`);
    const revision = Number(served.metadata.resourceVersion);
    const stored = await versionsIn(store, collectionPrefix(kind, cluster, ''), revision);
    const shown = new Map(
      served.items.map(({ metadata: { name, namespace = '', resourceVersion } }) => [
        storageKey(kind, { cluster, namespace, name }),
        Number(resourceVersion),
      ]),
    );
    compared += stored.size;
    for (const key of new Set([...stored.keys(), ...shown.keys()])) {
      if (stored.get(key) !== shown.get(key)) {
        problems.push(`${key}: the store has ${at(stored.get(key))}, the server ${at(shown.get(key))}`);
      }
    }
    return served;
  };
  // Which tokens are out is shown to each caller for itself; signing keys are shown from what is under them.
  const stored = catalog.kinds.filter((kind) => kind !== catalog.signingKeys && kind !== catalog.issuedTokens);
  for (const kind of stored.filter((one) => !one.inCluster && one !== catalog.clusters)) await compare(kind, '');
  const clusters = (await compare(catalog.clusters, '')).items.map(({ metadata }) => metadata.name);
  for (let start = 0; start < clusters.length; start += AT_ONCE) {
    await Promise.all(
      clusters.slice(start, start + AT_ONCE).map(async (cluster) => {
        for (const kind of stored.filter((one) => one.inCluster)) await compare(kind, cluster);
      }),
    );
  }
  return { compared, problems };
}

const at = (revision: Revision | undefined): string => (revision === undefined ? 'none' : `version ${revision}`);

async function versionsIn(store: Store, prefix: string, revision: Revision): Promise<Map<string, Revision>> {
  const { items } = await store.list({ prefix, revision });
  return new Map(items.map(({ key, modRevision }) => [key, modRevision]));
}
