import { Type } from 'typebox';
import { addressFor } from '../clusters/choose-endpoint.ts';
import { conditionOf } from '../clusters/conditions.ts';
import { endpointsInForce } from '../clusters/confirmed-endpoint.ts';
import {
  PROFILE_GROUP,
  PROFILE_KIND,
  PROFILE_LABELS,
  PROFILE_RESOURCE,
  type ProfileSettings,
  profileLabels,
  toClusterProfile,
} from '../clusters/profile-of-cluster.ts';
import { bodySchema } from '../codec/shape.ts';
import type { ApiObject, Kind, ProjectedNamespace, Projection, TableColumn } from '../kind.ts';
import { ENDPOINTS_FIELD } from './cluster.ts';
import { type ServerEndpoint, statusOf } from './cluster-spec.ts';
import { ageColumn, nameColumn, textColumn } from './columns.ts';
import { bytes, flag, list, part, struct, text, textAt, timestamp, typeMeta } from './meta.ts';

/** Which clusters are profiles, where, and what the profiles say. */
export interface InventorySettings extends ProfileSettings {
  readonly namespaces: readonly ProjectedNamespace[];
}

const DEFAULT_INVENTORY: InventorySettings = {
  manager: 'clusterpass',
  provider: 'clusterpass',
  properties: [],
  namespaces: [{ name: 'default', matches: () => true }],
};

const ConditionSchema = struct('Condition', 'One observed condition of the cluster.', {
  type: text('What the condition is about, e.g. `ControlPlaneHealthy`.'),
  status: text('`True`, `False` or `Unknown`.'),
  reason: text('One word for why the status last changed.'),
  message: text('Details of the last change of status, for people.'),
  lastTransitionTime: timestamp('When the status last changed.'),
});

const PropertySchema = struct('Property', 'A characteristic of the cluster.', {
  name: text('The name of the property.'),
  value: text('The value of the property.'),
});

const ExtensionSchema = struct('NamedExtension', 'Further settings, for the plugin that gets credentials.', {
  name: text('The name of the extension.'),
  extension: Type.Optional(Type.Unknown({ description: 'The content of the extension.' })),
});

const ConnectionSchema = part('Cluster', 'How to connect to the cluster, as in a kubeconfig.', {
  server: text('The address of the API server.'),
  'tls-server-name': text('The name in the certificate of the server, if it differs from that of the address.'),
  'insecure-skip-tls-verify': flag('Never set: certificates are always verified.'),
  'certificate-authority-data': bytes('Certificate authorities of the API server, PEM in base64.'),
  'proxy-url': text('The proxy to the API server.'),
  extensions: list(ExtensionSchema, { listMapKeys: ['name'], description: 'Settings for plugins.' }),
});

const AccessProviderSchema = struct('AccessProvider', 'One way to reach the cluster.', {
  name: text('The name under which a consumer configures the plugin that gets credentials.'),
  cluster: ConnectionSchema,
});

const ProfileSchema = struct(
  'ClusterProfile',
  'A cluster of the fleet, for controllers that read the Cluster Inventory API. It cannot be written.',
  {
    ...typeMeta,
    spec: part('ClusterProfileSpec', 'Which cluster this is.', {
      displayName: text('The name of the cluster, for people.'),
      clusterManager: part('ClusterManager', 'The system that manages the cluster.', {
        name: text('The name of the cluster manager.'),
      }),
    }),
    status: part('ClusterProfileStatus', 'The observed state of the cluster.', {
      conditions: list(ConditionSchema, {
        listMapKeys: ['type'],
        description: 'The observed conditions of the cluster.',
      }),
      version: part('ClusterVersion', 'The versions of the cluster.', {
        kubernetes: text('The version of Kubernetes that the cluster runs.'),
      }),
      properties: list(PropertySchema, { listMapKeys: ['name'], description: 'Characteristics of the cluster.' }),
      accessProviders: list(AccessProviderSchema, {
        listMapKeys: ['name'],
        description: 'How clients reach the cluster.',
      }),
    }),
  },
);

/** kubectl prints `<none>` for an absent text. */
const at = (object: ApiObject, ...path: string[]): string | null => textAt(object, ...path) || null;

const COLUMNS: readonly TableColumn[] = [
  nameColumn,
  textColumn('Display Name', 'The name for people.', (object) => at(object, 'spec', 'displayName')),
  textColumn('Manager', 'The cluster manager.', (object) => at(object, 'spec', 'clusterManager', 'name')),
  textColumn('Version', 'The version of Kubernetes.', (object) => at(object, 'status', 'version', 'kubernetes')),
  textColumn(
    'Healthy',
    'Whether the control plane is healthy.',
    (object) => conditionOf(statusOf(object), 'ControlPlaneHealthy')?.status ?? null,
  ),
  ageColumn,
];

/** The newest first: it is the preferred one in discovery. */
const VERSIONS = ['v1alpha2', 'v1alpha1'];

/** Clusters as profiles of the Cluster Inventory API, in both of its versions. */
export function clusterProfileKinds(
  clusters: Kind,
  productName: string,
  settings: InventorySettings = DEFAULT_INVENTORY,
): Kind[] {
  // Keys end the namespace with a slash, which comes after the hyphen.
  const namespaces = settings.namespaces.toSorted((a, b) => (`${a.name}/` < `${b.name}/` ? -1 : 1));
  return VERSIONS.map((version): Kind => {
    const projection: Projection = {
      source: clusters,
      namespaces,
      ownLabels: PROFILE_LABELS,
      labelsOf: (source) => profileLabels(source, settings.manager),
      variantFor: (source, clientAddress) => variantFor(source.field(ENDPOINTS_FIELD), clientAddress),
      project: (cluster, namespace, address) => {
        const endpoints = endpointsInForce(cluster, productName);
        const server = address === '' ? addressFor(endpoints.serverEndpoints, undefined) : address;
        return toClusterProfile(cluster, settings, { version, namespace, endpoints, server });
      },
    };
    return {
      group: PROFILE_GROUP,
      version,
      kind: PROFILE_KIND,
      listKind: `${PROFILE_KIND}List`,
      resource: PROFILE_RESOURCE,
      singular: 'clusterprofile',
      style: 'custom',
      inCluster: false,
      namespaced: true,
      hasStatus: true,
      nameRule: 'subdomain',
      verbs: new Set(['get', 'list', 'watch']),
      ...bodySchema(ProfileSchema),
      validate: () => [],
      columns: COLUMNS,
      projection,
    };
  });
}

/** CP-83: the address for this client; `""` for the only one. */
function variantFor(endpoints: string, clientAddress: string): string {
  if (endpoints === '') return '';
  return addressFor(JSON.parse(endpoints) as ServerEndpoint[], clientAddress) ?? '';
}
