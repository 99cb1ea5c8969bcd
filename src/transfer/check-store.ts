import type { Catalog } from '../api/catalog.ts';
import { requireTypes, WrongStoredType } from '../api/codec/stored-types.ts';
import { type ApiObject, fleetKey, type Kind, kindPrefix, REGISTRY_PREFIX, storageKey } from '../api/kind.ts';
import { bindingProblem } from '../api/kinds/binding-problem.ts';
import { parsedJson } from '../lib/json.ts';
import type { KeyValue, StoreReads } from '../storage/contract.ts';
import { scan } from '../storage/scan.ts';

/** Reads all keys at one revision, and reports inconsistencies: one sentence each. */
export async function checkStore(store: StoreReads, catalog: Catalog) {
  const revision = await store.revision();
  /** By resource; keys that are not objects count as `internal`. */
  const counts = new Map<string, number>();
  const problems: string[] = [];
  const keys = new Set<string>();
  const uids = new Map<string, string>();
  const children: { key: string; parents: string[] }[] = [];
  const check = (item: KeyValue): void => {
    const kind = catalog.storedKinds.find((one) => item.key.startsWith(kindPrefix(one)));
    const label = kind?.resource ?? (item.key.startsWith(REGISTRY_PREFIX) ? 'unknown' : 'internal');
    counts.set(label, (counts.get(label) ?? 0) + 1);
    if (label === 'unknown') problems.push(`${item.key}: no kind of this release has such keys`);
    if (kind === undefined) return;
    keys.add(item.key);
    problems.push(...checkObject(kind, item, uids).map((problem) => `${item.key}: ${problem}`));
    children.push({ key: item.key, parents: parentsOf(catalog, kind, item.key) });
  };
  for await (const items of scan(store, { prefix: '/', revision })) items.forEach(check);
  for (const { key, parents } of children) {
    for (const parent of parents) {
      if (!keys.has(parent)) problems.push(`${key}: its parent ${parent} does not exist`);
    }
  }
  return { revision, counts, problems };
}

const parsedObject = (value: Uint8Array): ApiObject | undefined =>
  parsedJson(Buffer.from(value).toString('utf8')) as unknown as ApiObject | undefined;

function valueProblem(kind: Kind, stored: ApiObject | undefined): string | undefined {
  if (stored === undefined) return 'its value is not JSON';
  try {
    requireTypes(kind.storedForm?.fromStored(stored) ?? stored, kind.shape);
  } catch (error) {
    return error instanceof WrongStoredType ? error.message : 'it has fields of wrong types';
  }
  return kind.policyRole === 'binding'
    ? bindingProblem({ ...stored, kind: kind.kind, metadata: stored.metadata ?? {} })
    : undefined;
}

function checkObject(kind: Kind, { key, value }: KeyValue, uids: Map<string, string>): string[] {
  const stored = parsedObject(value);
  const problem = valueProblem(kind, stored);
  if (stored === undefined) return [problem ?? ''];
  const problems = problem === undefined ? [] : [problem];
  const { name, namespace = '', uid }: Record<string, unknown> = Object(Object(stored).metadata);
  const parts = key.slice(kindPrefix(kind).length).split('/');
  const cluster = kind.inCluster ? (parts[0] ?? '') : '';
  if (storageKey(kind, { cluster, namespace: String(namespace), name: String(name) }) !== key) {
    problems.push('its name, namespace or cluster does not match its key');
  }
  if (typeof uid !== 'string' || uid === '') problems.push('has no uid');
  else if (uids.has(uid)) problems.push(`has the same uid as ${uids.get(uid)}`);
  else uids.set(uid, key);
  return problems;
}

function parentsOf(catalog: Catalog, kind: Kind, key: string): string[] {
  if (!kind.inCluster) return [];
  const [cluster = '', namespace = ''] = key.slice(kindPrefix(kind).length).split('/');
  const ofCluster = storageKey(catalog.clusters, fleetKey(cluster));
  if (!kind.namespaced) return [ofCluster];
  return [ofCluster, storageKey(catalog.namespaces, { cluster, namespace: '', name: namespace })];
}
