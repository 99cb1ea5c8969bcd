import type { ObjectMeta } from './kind.ts';

/** Annotations, labels and verbs of the domain `clusterpass.dev`. `reserved-keys.ts` says what a kind may have. */

/** In a manifest: the cluster of an object that lives in a cluster. */
export const IN_CLUSTER_ANNOTATION = 'clusterpass.dev/in-cluster';

/**
 * `<source>:<file>`, the origin of an object that was created from a file of a manifests folder: only these are pruned.
 * The server sets it. A client cannot add or change it: a copy of such an object under another name would be pruned. A
 * client may remove it; the object then belongs to the API.
 */
export const MANIFEST_ANNOTATION = 'clusterpass.dev/manifest';

/** The identity of a registered cluster: the UID of its namespace `kube-system`. */
export const CLUSTER_ID_ANNOTATION = 'clusterpass.dev/cluster-id';

/**
 * `<source>/<hub>/<namespace>/<name>`: where `clusterpass sync import` has found the cluster. It changes and deletes
 * only clusters that have its annotation.
 */
export const IMPORTED_ANNOTATION = 'clusterpass.dev/imported-from';

/**
 * On a copy of an object of a cluster: the identity of that cluster. A caller with the verb `MIRROR_VERB` sets it, and
 * then the UID as well: the connector of the cluster.
 */
export const MIRRORED_ANNOTATION = 'clusterpass.dev/mirrored-from';

/** The verb on namespaces, service accounts and Pods of a cluster for copies with the UIDs of that cluster. */
export const MIRROR_VERB = 'mirror';

/** `<name>/<uid>` of the bootstrap token with which the cluster has registered itself. The server sets it. */
export const JOINED_ANNOTATION = 'clusterpass.dev/joined-with';

/** JSON: the people who wrote the endpoints that wait. Others confirm them. The server sets it. */
export const ENDPOINT_AUTHORS_ANNOTATION = 'clusterpass.dev/endpoint-authors';

/** Labels of a cluster below this prefix are set and removed only with the verb `PROTECT_VERB`. */
export const PROTECTED_LABEL_PREFIX = 'protected.clusterpass.dev/';

/** The verb on the cluster that a change of its protected labels requires. */
export const PROTECT_VERB = 'protect';

export const originOf = ({ annotations }: ObjectMeta): string | undefined => annotations?.[MANIFEST_ANNOTATION];

/** The metadata that a client sent, with at most the origin that is stored. */
export function withStoredOrigin(sent: ObjectMeta, stored: ObjectMeta | undefined): ObjectMeta {
  const origin = stored === undefined ? undefined : originOf(stored);
  const { annotations } = sent;
  if (annotations === undefined || !Object.hasOwn(annotations, MANIFEST_ANNOTATION)) return sent;
  if (annotations[MANIFEST_ANNOTATION] === origin) return sent;
  if (origin !== undefined) return { ...sent, annotations: { ...annotations, [MANIFEST_ANNOTATION]: origin } };
  const { annotations: _, ...rest } = sent;
  const others = Object.entries(annotations).filter(([key]) => key !== MANIFEST_ANNOTATION);
  return others.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(others) };
}

export const withOrigin = (metadata: ObjectMeta, origin: string): ObjectMeta => ({
  ...metadata,
  annotations: { ...metadata.annotations, [MANIFEST_ANNOTATION]: origin },
});
