import type { Catalog } from '../../api/catalog.ts';
import type { Kind } from '../../api/kind.ts';
import type { RequestScope } from '../../api/kinds/access-request-spec.ts';
import { fleetKey, type ObjectKey } from '../../api/object-key.ts';
import { conflict } from '../../api/status.ts';
import type { ObjectReader } from '../../objects/reader.ts';

interface Parts {
  readonly catalog: Catalog;
  readonly reader: Pick<ObjectReader, 'find'>;
}

/** What an approval is about; a name or namespace of `""` is none. */
interface ApprovedScope extends RequestScope {
  /** Of the service account. */
  readonly name: string;
}

/** 409 for the approval of a cluster, namespace or account that finalizers keep: nothing could be issued for it. */
export function checkNotDeleted(
  { catalog, reader }: Parts,
  approved: { readonly kind: Kind; readonly name: string },
  { cluster, namespace, name }: ApprovedScope,
): void {
  const objects: [string, Kind, ObjectKey][] = [
    ['cluster', catalog.clusters, fleetKey(cluster)],
    ['namespace', catalog.namespaces, { cluster, namespace: '', name: namespace }],
    ['service account', catalog.serviceAccounts, { cluster, namespace, name }],
  ];
  const found = objects.find(([, kind, key]) => reader.find(kind, key)?.deletionTimestamp !== undefined);
  if (found === undefined) return;
  const [word, , key] = found;
  throw conflict(approved.kind, approved.name, `the ${word} ${JSON.stringify(key.name)} is being deleted`);
}
