import type { ApiObject } from '../kind.ts';

export const CLUSTER_GROUP = 'clusterregistry.k8s.io';

/** Whether a kind, a path or a question is about Cluster objects. */
export const isClusters = ({ group, resource }: { readonly group: string; readonly resource: string }): boolean =>
  group === CLUSTER_GROUP && resource === 'clusters';

export interface ServerEndpoint {
  clientCIDR?: string;
  serverAddress?: string;
}

export interface ApiEndpoints {
  serverEndpoints?: ServerEndpoint[];
  caBundle?: string;
}

export interface ClusterCondition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastHeartbeatTime?: string;
  lastTransitionTime?: string;
}

export interface ClusterStatus {
  conditions?: ClusterCondition[];
  type?: string;
  version?: string;
}

export const statusOf = (object: ApiObject): ClusterStatus => (object.status ?? {}) as ClusterStatus;

/** The name of the endpoints in `spec`. */
export const endpointsField = (productName: string): string => `${productName}ApiEndpoints`;

/** Names a credential in `--credentials-dir`. */
export interface CredentialReference {
  readonly namespace: string;
  readonly name: string;
}

/** In `spec.authInfo.controller`, the kind of a reference to the connector of the cluster. */
export const CONNECTOR_REFERENCE = 'Connector';

const controllerIn = (object: ApiObject): Partial<CredentialReference & { readonly kind: string }> =>
  (object.spec as { authInfo?: { controller?: CredentialReference } } | undefined)?.authInfo?.controller ?? {};

/** `spec.authInfo.controller`: a cluster that names a credential issues its tokens itself. Undefined without one. */
export function controllerOf(object: ApiObject): CredentialReference | undefined {
  const { namespace = '', name = '' } = controllerIn(object);
  return (namespace === '' && name === '') || hasConnector(object) ? undefined : { namespace, name };
}

/** Whether a connector issues the tokens of the cluster. It stays true while there is no such connector. */
export const hasConnector = (object: ApiObject): boolean => controllerIn(object).kind === CONNECTOR_REFERENCE;

/** Without `--credentials-dir` the server issues the tokens of every cluster that has no connector. */
export const issuesTokensItself = (object: ApiObject, credentialsDir: string | undefined): boolean =>
  hasConnector(object) || (credentialsDir !== undefined && controllerOf(object) !== undefined);
