import type { Catalog } from '../../api/catalog.ts';
import type { Kind } from '../../api/kind.ts';
import type { RequestScope } from '../../api/kinds/access-request-spec.ts';
import type { ObjectKey } from '../../api/object-key.ts';
import { type ApiError, conflict } from '../../api/status.ts';
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

/** The 409 of an approval for a cluster, namespace or account that finalizers keep: nothing could be issued for it. */
export function beingDeleted(
  { catalog, reader }: Parts,
  approved: { readonly kind: Kind; readonly name: string },
  { cluster, namespace, name }: ApprovedScope,
): ApiError | undefined {
  const objects: [string, Kind, ObjectKey][] = [
    ['cluster', catalog.clusters, { cluster: '', namespace: '', name: cluster }],
    ['namespace', catalog.namespaces, { cluster, namespace: '', name: namespace }],
    ['service account', catalog.serviceAccounts, { cluster, namespace, name }],
  ];
  const found = objects.find(([, kind, key]) => reader.find(kind, key)?.deletionTimestamp !== undefined);
  if (found === undefined) return undefined;
  const [word, , key] = found;
  return conflict(approved.kind, approved.name, `the ${word} ${JSON.stringify(key.name)} is being deleted`);
}
