import { call, expectEqual, expectSuccess } from './client.ts';
import type { Fleet } from './fleet.ts';
import {
  account,
  accountObject,
  bindingObject,
  clusterName,
  clusterObject,
  type FleetObject,
  namespaceObject,
  otherBindings,
  roleObjects,
} from './objects.ts';
import type { FleetServer } from './processes.ts';

interface FleetSize {
  readonly clusters: number;
  readonly bindings: number;
  /** Size of the public view of one cluster. */
  readonly clusterBytes?: number;
}

/** So many clusters carry `picked=yes`, and as many others `own=yes`, in a fleet of any size. */
const LABELLED = 200;
/** Cluster, namespace and service account whose tokens are requested, and the service account that requests them. */
export const HOME = clusterName(0);
export const NAMESPACE = 'ci';
export const ACCOUNT = 'builder';
export const CALLER = 'caller';
/** Sees the public view of every cluster. */
export const READER = { name: 'reader', token: 'token-of-reader-0123456789' };
/** Sees the clusters with `own=yes`, by the selector of its binding. */
export const LIMITED_READER = { name: 'limited', token: 'token-of-limited-0123456789' };

/** A fleet of many clusters, with one namespace and two service accounts. */
export const clusterFleet = (size: FleetSize): Fleet => ({
  callers: [READER, LIMITED_READER],
  objects: () => objectsOf(size),
});

function* objectsOf({ clusters, bindings, clusterBytes }: FleetSize): Generator<FleetObject> {
  const step = Math.max(1, Math.floor(clusters / LABELLED));
  const isLabelled = (index: number): boolean => index % step === 0 && index / step < LABELLED;
  for (let index = 0; index < clusters; index++) {
    const labels = {
      env: ['dev', 'staging', 'prod'][index % 3] ?? '',
      region: `r-${index % 20}`,
      ...(isLabelled(index) ? { picked: 'yes' } : {}),
      ...(isLabelled(index + 1 - step) ? { own: 'yes' } : {}),
    };
    yield clusterObject(clusterName(index), labels, clusterBytes);
  }
  yield namespaceObject(HOME, NAMESPACE);
  yield accountObject(HOME, NAMESPACE, ACCOUNT);
  yield accountObject(HOME, NAMESPACE, CALLER);
  yield* roleObjects();
  yield bindingObject('reader', 'viewer', [READER.name]);
  yield bindingObject('limited', 'viewer', [LIMITED_READER.name], 'own=yes');
  yield bindingObject('caller', 'issuer', [account(NAMESPACE, CALLER)]);
  yield* otherBindings(bindings - 3);
}

export const LIST = '/auth/v1/clusters';

/** A list of clusters in their public view. */
export interface ListWork {
  readonly name: string;
  readonly path: string;
  readonly token: string;
  readonly items: number;
  readonly connections: number;
}

/** The lists that the benchmarks request, in a fleet with so many clusters. */
export function listWorks(clusters: number): Record<'all' | 'page' | 'selector' | 'limited', ListWork> {
  const all = { name: 'list of all clusters', path: LIST, token: READER.token, items: clusters, connections: 2 };
  const short = { ...all, connections: 8, items: LABELLED };
  return {
    all,
    page: { ...short, name: 'page of 500 clusters', path: `${LIST}?limit=500`, items: Math.min(500, clusters) },
    selector: { ...short, name: 'label selector, 200 clusters', path: `${LIST}?labelSelector=picked%3Dyes` },
    limited: { ...short, name: 'caller who sees 200 clusters', token: LIMITED_READER.token },
  };
}

interface ClusterList {
  readonly items: readonly { readonly metadata: { readonly name: string }; readonly spec: object }[];
}

/** The body of the response, after a check that it has the right number of clusters, sorted, in the public view. */
export async function checkedList(server: FleetServer, { name, path, token, items }: ListWork): Promise<Buffer> {
  const response = await call(server, 'GET', path, { token });
  const list = await expectSuccess<ClusterList>(Promise.resolve(response));
  const names = list.items.map(({ metadata }) => metadata.name);
  expectEqual(`${name}: items`, names.length, items);
  expectEqual(`${name}: order`, names, names.toSorted());
  const fields = new Set(list.items.flatMap(({ spec }) => Object.keys(spec)));
  expectEqual(`${name}: fields of spec`, [...fields], ['orchestratorApiEndpoints']);
  return response.body;
}
