import { defined } from '../../lib/json.ts';
import type { ApiObject } from '../kind.ts';
import { CLUSTER_GROUP, endpointsField } from '../kinds/cluster-spec.ts';

const ALL_NETWORKS = ['0.0.0.0/0', '::/0'];

interface ClusterDescription {
  readonly name: string;
  readonly labels?: Record<string, string> | undefined;
  readonly annotations?: Record<string, string> | undefined;
  readonly addresses: readonly string[];
  /** Networks whose clients use the addresses. Empty: all. */
  readonly networks?: readonly string[];
  /** Base64 of PEM. */
  readonly caBundle?: string | undefined;
  /** Of the server: it is part of the name of a field. */
  readonly productName: string;
}

/** The Cluster object with which a client registers a cluster. */
export function clusterObject(description: ClusterDescription): ApiObject {
  const { name, labels, annotations, addresses, networks = [], caBundle, productName } = description;
  const serverEndpoints = addresses.flatMap((serverAddress) =>
    (networks.length > 0 ? networks : ALL_NETWORKS).map((clientCIDR) => ({ clientCIDR, serverAddress })),
  );
  return {
    apiVersion: `${CLUSTER_GROUP}/v1alpha1`,
    kind: 'Cluster',
    metadata: defined({ name, labels, annotations }),
    spec: { [endpointsField(productName)]: defined({ serverEndpoints, caBundle }) },
  };
}
