import { addressFor } from '../api/clusters/choose-endpoint.ts';
import {
  MANAGER_LABEL,
  PROFILE_GROUP,
  PROFILE_RESOURCE,
  toClusterProfile,
} from '../api/clusters/profile-of-cluster.ts';
import type { ApiObject } from '../api/kind.ts';
import { type Cluster, endpointsInForce } from '../client/types.ts';
import { type Desired, keyOf, type Ownership } from './plan.ts';
import type { DesiredState } from './reconciler.ts';

/** Clusters of Clusterpass as ClusterProfiles of a hub: what is written there, and whose it is. */

/** CP-87 */
export const EXPORT_FIELD_MANAGER = 'clusterpass';
/** The newest first. */
export const PROFILE_VERSIONS = ['v1alpha2', 'v1alpha1'] as const;
/** On an exported profile: the base URL of the server that has its cluster. */
export const EXPORTED_ANNOTATION = 'clusterpass.dev/exported-from';

export interface ExportSettings {
  readonly namespace: string;
  /** The name of the cluster manager and of the access provider. */
  readonly manager: string;
  readonly provider: string;
  /** Labels that become properties. */
  readonly properties: readonly string[];
  /** As for a client at this address; undefined: the endpoint for every client, or else the first. */
  readonly endpointFor: string | undefined;
  /** The base URL of Clusterpass. */
  readonly server: string;
}

export const profilesPath = (version: string, namespace: string): string =>
  `/apis/${PROFILE_GROUP}/${version}/namespaces/${encodeURIComponent(namespace)}/${PROFILE_RESOURCE}`;

/** The profile of a cluster, without the fields that the hub sets. */
function exportedProfile(cluster: Cluster, version: string, settings: ExportSettings): Desired {
  const endpoints = endpointsInForce(cluster);
  const { serverEndpoints = [] } = endpoints;
  const { endpointFor, namespace } = settings;
  const server = addressFor(serverEndpoints, endpointFor) || undefined;
  const { status, metadata, ...rest } = toClusterProfile(cluster, settings, { version, namespace, endpoints, server });
  const { name = '', labels = {} } = metadata;
  const annotations = { [EXPORTED_ANNOTATION]: settings.server };
  return {
    object: { ...rest, metadata: { name, namespace, labels, annotations } },
    status: status as Record<string, unknown>,
  };
}

/**
 * CP-87: a profile is ours if the manager in label and spec is ours. Two servers with the same manager name are told
 * apart by the annotation; a profile whose annotation was removed gets it back, and is not removed without it.
 */
export function exportOwnership({ manager, server }: Pick<ExportSettings, 'manager' | 'server'>): Ownership {
  const isManaged = ({ metadata, spec }: ApiObject): boolean =>
    metadata.labels?.[MANAGER_LABEL] === manager &&
    (spec as { clusterManager?: { name?: string } } | undefined)?.clusterManager?.name === manager;
  const exporter = ({ metadata }: ApiObject): string | undefined => metadata.annotations?.[EXPORTED_ANNOTATION];
  return {
    mayChange: (actual) => isManaged(actual) && (exporter(actual) ?? server) === server,
    mayRemove: (actual) => isManaged(actual) && exporter(actual) === server,
  };
}

/** What is kept of a cluster: its profile, made once for each version. */
export const withProfile = (cluster: ApiObject, version: string, settings: ExportSettings): ApiObject => ({
  ...cluster,
  spec: undefined,
  status: undefined,
  profile: exportedProfile(cluster as unknown as Cluster, version, settings),
});

/** The profiles of these clusters. */
export const exportedState = (clusters: Iterable<ApiObject>): DesiredState => ({
  objects: new Map(
    Iterator.from(clusters).map(({ profile }) => [keyOf((profile as Desired).object), profile as Desired] as const),
  ),
  kept: new Set(),
  problems: new Map(),
});
