import { isGone, LEEWAY_MS } from '../api/deletion.ts';
import type { ObjectRef, TokenClaims } from './claims.ts';

/** The objects that a token depends on, as the watch cache holds them now. */
export interface LiveObjects {
  /**
   * `cluster` is the cluster the object lives in; for `clusters` it is the cluster itself, equal to `name`.
   * `namespace` is `""` for clusters and namespaces.
   */
  lookup(resource: LiveResource, cluster: string, namespace: string, name: string): LiveObject | undefined;
}

export type LiveResource = 'clusters' | 'namespaces' | 'serviceaccounts' | 'pods' | 'secrets';

export interface LiveObject {
  readonly uid: string;
  /** RFC 3339. */
  readonly deletionTimestamp?: string | undefined;
}

/** The reason for a refusal, or undefined. In the order nbf, exp, iat (K-15). */
export function timeProblem(
  claims: Pick<TokenClaims, 'nbf' | 'exp' | 'iat'>,
  now: number,
  what = 'service account token',
): string | undefined {
  if (now + LEEWAY_MS < claims.nbf * 1000) return `${what} is not valid yet`;
  if (now > expiryOf(claims)) return `${what} has expired`;
  if (now + LEEWAY_MS < claims.iat * 1000) return `${what} is issued in the future`;
  return undefined;
}

/** The last millisecond at which the token is accepted. */
export const expiryOf = ({ exp }: Pick<TokenClaims, 'exp'>): number => exp * 1000 + LEEWAY_MS;

const INVALIDATED = 'service account token has been invalidated';

/**
 * K-16 to K-20: the account and the bound object must exist, with the uid in the token, and not be past their deletion.
 * Beyond Kubernetes, the cluster and the namespace must exist too. Their uids are not among Kubernetes' claims and need
 * not be: deleting a cluster or a namespace deletes everything inside it, so the account in a new one of the same name
 * has another uid, unless a caller with the verb `mirror` gave it the same, and K-17 refuses the token. The reason for
 * a refusal, or undefined.
 */
export function livenessProblem(
  live: LiveObjects,
  cluster: string,
  claims: TokenClaims,
  now: number,
): string | undefined {
  const { namespace, serviceaccount, pod, secret } = claims['kubernetes.io'];

  const clusterGone = clusterProblem(live, cluster, now);
  if (clusterGone !== undefined) return clusterGone;
  const within = live.lookup('namespaces', cluster, '', namespace);
  if (within === undefined) return `namespaces "${namespace}" not found`;
  if (isGone(within, now)) return INVALIDATED;

  const account = live.lookup('serviceaccounts', cluster, namespace, serviceaccount.name);
  if (account === undefined) return `serviceaccounts "${serviceaccount.name}" not found`;
  if (account.uid !== serviceaccount.uid) {
    return `service account UID (${account.uid}) does not match claim (${serviceaccount.uid})`;
  }
  if (isGone(account, now)) return `service account ${namespace}/${serviceaccount.name} has been deleted`;

  // K-21: the node beside a pod only informs. It is not looked up.
  return (
    boundProblem('secret', secret, secret && live.lookup('secrets', cluster, namespace, secret.name), now) ??
    boundProblem('pod', pod, pod && live.lookup('pods', cluster, namespace, pod.name), now)
  );
}

/** A pass for a person depends on its cluster alone, whose UID is the last argument. */
export function clusterProblem(live: LiveObjects, cluster: string, now: number, uid?: string): string | undefined {
  const found = live.lookup('clusters', cluster, '', cluster);
  if (found === undefined) return `clusters.clusterregistry.k8s.io "${cluster}" not found`;
  if (uid !== undefined && uid !== found.uid) return `cluster UID (${found.uid}) does not match claim (${uid})`;
  return isGone(found, now) ? INVALIDATED : undefined;
}

function boundProblem(
  word: 'pod' | 'secret',
  claimed: ObjectRef | undefined,
  found: LiveObject | undefined,
  now: number,
): string | undefined {
  if (claimed === undefined) return undefined;
  if (found === undefined) return INVALIDATED;
  if (found.uid !== claimed.uid) {
    return `${word} UID (${found.uid}) does not match service account ${word} ref claim (${claimed.uid})`;
  }
  return isGone(found, now) ? INVALIDATED : undefined;
}
