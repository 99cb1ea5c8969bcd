import type { Fleet } from './fleet.ts';
import type { FleetObject } from './objects.ts';
import {
  account,
  accountObject,
  bindingObject,
  clusterBody,
  clusterName,
  clusterObject,
  namespaceObject,
  otherBindings,
  roleObjects,
  user,
} from './objects.ts';

interface FleetSize {
  readonly clusters: number;
  readonly bindings: number;
  /** Size of the public view of one cluster. */
  readonly clusterBytes?: number;
  /** Makes the clusters; `clusterBody` by default. */
  readonly body?: (name: string, labels: Record<string, string>, bytes?: number) => object;
}

/** So many clusters carry `picked=yes`, and as many others `own=yes`, in a fleet of any size. */
export const LABELLED = 200;
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

function* objectsOf({ clusters, bindings, clusterBytes, body = clusterBody }: FleetSize): Generator<FleetObject> {
  const step = Math.max(1, Math.floor(clusters / LABELLED));
  const isLabelled = (index: number): boolean => index % step === 0 && index / step < LABELLED;
  for (let index = 0; index < clusters; index++) {
    const labels = {
      env: ['dev', 'staging', 'prod'][index % 3] ?? '',
      region: `r-${index % 20}`,
      ...(isLabelled(index) ? { picked: 'yes' } : {}),
      ...(isLabelled(index + 1 - step) ? { own: 'yes' } : {}),
    };
    yield clusterObject(body(clusterName(index), labels, clusterBytes));
  }
  yield namespaceObject(HOME, NAMESPACE);
  yield accountObject(HOME, NAMESPACE, ACCOUNT);
  yield accountObject(HOME, NAMESPACE, CALLER);
  yield* roleObjects();
  yield bindingObject('reader', { role: 'viewer', subjects: [user(READER.name)] });
  yield bindingObject('limited', { role: 'viewer', subjects: [user(LIMITED_READER.name)], clusters: 'own=yes' });
  yield bindingObject('caller', { role: 'issuer', subjects: [account(NAMESPACE, CALLER)] });
  yield* otherBindings(bindings - 3);
}
