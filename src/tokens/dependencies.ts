import { fleetKey, isGone, type ObjectKey, storageKey } from '../api/kind.ts';
import { clusterScope } from '../api/kinds/cluster.ts';
import { namespaceKind, podKind, secretKind, serviceAccountKind } from '../api/kinds/core.ts';
import { revokedTokenKind } from '../api/kinds/issued-token.ts';
import { CLUSTER_UID, type ObjectRef } from './claims.ts';
import type { SignedClaims } from './signer.ts';

/** The object of this resource at this storage key, as the watch cache holds it now. */
export type FindLive = (resource: string, key: string) => LiveObject | undefined;

export interface LiveObject {
  readonly uid: string;
  /** RFC 3339. */
  readonly deletionTimestamp?: string | undefined;
}

/** An object that one token depends on. A request looks it up, and a watch ends with an event at its key. */
export interface Dependency {
  readonly resource: string;
  readonly key: string;
  /** Why the token is refused, with the object that is there now; undefined when it is not. */
  readonly problem: (found: LiveObject | undefined, now: number) => string | undefined;
}

/** Undefined when tokens with these claims do not depend on it. */
export type DependencyRow = (cluster: string, claims: SignedClaims) => Dependency | undefined;

const INVALIDATED = 'service account token has been invalidated';

const revocation: DependencyRow = (_cluster, claims) =>
  at(revokedTokenKind, fleetKey(claims.jti), (found) =>
    found === undefined ? undefined : `${nameOf(claims)} has been revoked`,
  );

/** A pass for a person names the UID of its cluster. Kubernetes' claims do not: see `namespace`. */
const cluster: DependencyRow = (name, claims) => {
  const uid = 'kubernetes.io' in claims ? undefined : claims[CLUSTER_UID];
  return at(clusterScope, fleetKey(name), (found, now) => {
    if (found === undefined) return `clusters.clusterregistry.k8s.io "${name}" not found`;
    if (uid !== undefined && uid !== found.uid) return `cluster UID (${found.uid}) does not match claim (${uid})`;
    return isGone(found, now) ? INVALIDATED : undefined;
  });
};

/**
 * Beyond Kubernetes, the cluster and the namespace must exist. Their UIDs are not claims and need not be: deleting a
 * cluster or a namespace deletes everything inside it, so the account in a new one of the same name has another UID,
 * unless a caller with the verb `mirror` gave it the same, and K-17 refuses the token.
 */
const namespace: DependencyRow = (name, claims) => {
  if (!('kubernetes.io' in claims)) return undefined;
  const { namespace: own } = claims['kubernetes.io'];
  return at(namespaceKind, { cluster: name, namespace: '', name: own }, (found, now) => {
    if (found === undefined) return `namespaces "${own}" not found`;
    return isGone(found, now) ? INVALIDATED : undefined;
  });
};

/** K-16, K-17, K-20. */
const account: DependencyRow = (name, claims) => {
  if (!('kubernetes.io' in claims)) return undefined;
  const { namespace: own, serviceaccount } = claims['kubernetes.io'];
  return at(serviceAccountKind, { cluster: name, namespace: own, name: serviceaccount.name }, (found, now) => {
    if (found === undefined) return `serviceaccounts "${serviceaccount.name}" not found`;
    if (found.uid !== serviceaccount.uid) {
      return `service account UID (${found.uid}) does not match claim (${serviceaccount.uid})`;
    }
    return isGone(found, now) ? `service account ${own}/${serviceaccount.name} has been deleted` : undefined;
  });
};

/** K-18 to K-20: the bound object. K-21: the node beside a pod only informs, and is not looked up. */
const boundObject =
  (word: 'pod' | 'secret', kind: KeyedKind): DependencyRow =>
  (name, claims) => {
    if (!('kubernetes.io' in claims)) return undefined;
    const { namespace: own, [word]: bound } = claims['kubernetes.io'];
    if (bound === undefined) return undefined;
    return at(kind, { cluster: name, namespace: own, name: bound.name }, (found, now) =>
      boundProblem(word, bound, found, now),
    );
  };

function boundProblem(
  word: string,
  { uid }: ObjectRef,
  found: LiveObject | undefined,
  now: number,
): string | undefined {
  if (found === undefined) return INVALIDATED;
  if (found.uid !== uid) return `${word} UID (${found.uid}) does not match service account ${word} ref claim (${uid})`;
  return isGone(found, now) ? INVALIDATED : undefined;
}

/**
 * What a token depends on, beside its times and its key, which is in the key ring. The first row that refuses gives the
 * reason. A new kind of dependency is a row: requests, reviews and open watches follow it.
 */
export const DEPENDENCIES: readonly DependencyRow[] = [
  revocation,
  cluster,
  namespace,
  account,
  boundObject('secret', secretKind),
  boundObject('pod', podKind),
];

/** What this token of a cluster depends on. */
export const dependenciesOf = (
  inCluster: string,
  claims: SignedClaims,
  rows: readonly DependencyRow[] = DEPENDENCIES,
): readonly Dependency[] => rows.map((row) => row(inCluster, claims)).filter((found) => found !== undefined);

/** The sort of a token, in the reasons of refusals. */
export const nameOf = (claims: SignedClaims): string =>
  'kubernetes.io' in claims ? 'service account token' : 'token of a person';

type KeyedKind = Parameters<typeof storageKey>[0];

const at = (kind: KeyedKind, key: ObjectKey, problem: Dependency['problem']): Dependency => ({
  resource: kind.resource,
  key: storageKey(kind, key),
  problem,
});
