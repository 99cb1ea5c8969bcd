import { COMPUTED_ANNOTATIONS, TOKEN_CHECKS_ANNOTATION } from '../api/clusters/annotations.ts';
import { CONFIRMED_FIELD, endpointsInForce, isConfirmed } from '../api/clusters/confirmed-endpoint.ts';
import type { ApiObject, ObjectMeta } from '../api/kind.ts';
import { endpointsField } from '../api/kinds/cluster-spec.ts';
import { defined } from '../lib/json.ts';

/** Prefixes of annotations that kubectl or Clusterpass use internally: they can hold whole manifests. */
const HIDDEN_PREFIXES = ['kubectl.kubernetes.io/', 'clusterpass.dev/'];

export interface PublicViewOptions {
  readonly productName: string;
  readonly issuerOf: (cluster: string) => string;
  readonly maxExpirationSeconds: number;
  /** Whether this cluster issues its own tokens: then only it knows their issuer and audience. */
  readonly issuesOwnTokens: (object: ApiObject) => boolean;
}

/**
 * The one place that decides which fields every caller may see. It is an allow-list: a new field is hidden until it is
 * added here. Used for get, list, watch, deletions, tables and every cache of bytes.
 */
export function createPublicView(options: PublicViewOptions): (object: ApiObject) => ApiObject {
  const endpoints = endpointsField(options.productName);
  return (object) => {
    const spec = (object.spec ?? {}) as Record<string, unknown>;
    return {
      apiVersion: object.apiVersion,
      kind: object.kind,
      metadata: publicMetadata(object, options),
      // Also for a caller who changed them: no client connects to endpoints that are not confirmed.
      ...(Object.hasOwn(spec, endpoints) || Object.hasOwn(spec, CONFIRMED_FIELD)
        ? { spec: { [endpoints]: endpointsInForce(object, options.productName) } }
        : {}),
      ...(object.status === undefined ? {} : { status: object.status }),
    };
  };
}

function publicMetadata(object: ApiObject, options: PublicViewOptions): ObjectMeta {
  const { metadata } = object;
  const { name, uid, labels, creationTimestamp, deletionTimestamp, generation, resourceVersion } = metadata;
  const issuer = options.issuerOf(name ?? '');
  const annotations: Record<string, string> = {};
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    const isHidden = key !== TOKEN_CHECKS_ANNOTATION && HIDDEN_PREFIXES.some((prefix) => key.startsWith(prefix));
    if (!isHidden) annotations[key] = value;
  }
  if (!options.issuesOwnTokens(object)) {
    annotations[COMPUTED_ANNOTATIONS.issuer] = issuer;
    annotations[COMPUTED_ANNOTATIONS.audience] = issuer;
  }
  if (isConfirmed(object, options.productName)) annotations[COMPUTED_ANNOTATIONS.confirmed] = 'true';
  annotations[COMPUTED_ANNOTATIONS.maxExpiration] = String(options.maxExpirationSeconds);
  const times = { creationTimestamp, deletionTimestamp };
  return defined({ name, uid, labels, annotations, ...times, generation, resourceVersion });
}
