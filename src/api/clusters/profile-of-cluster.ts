import { createHash } from 'node:crypto';
import { defined } from '../../lib/json.ts';
import { truncate } from '../../lib/text.ts';
import type { ApiObject, ObjectMeta, Projection } from '../kind.ts';
import { type ApiEndpoints, type ClusterCondition, statusOf } from '../kinds/cluster-spec.ts';
import { isValidLabelValue } from '../names.ts';
import { conditionOf } from './conditions.ts';

/**
 * A Cluster as a ClusterProfile of SIG-Multicluster. The one place that maps them: for the kind that the server serves,
 * and for programs that write profiles into another cluster. It does not import the schema of the kind, whose library
 * loads slowly.
 */

export const PROFILE_GROUP = 'multicluster.x-k8s.io';
export const PROFILE_RESOURCE = 'clusterprofiles';
export const PROFILE_KIND = 'ClusterProfile';

export const MANAGER_LABEL = 'x-k8s.io/cluster-manager';
export const MEMBER_LABEL = 'multicluster.x-k8s.io/inventory-member-id';

/** The extension whose content client-go gives to an exec plugin as `spec.cluster.config`. */
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';

/** KEP-2149: the names of properties that the About API defines. */
const ABOUT_PROPERTIES = ['cluster.clusterset.k8s.io', 'clusterset.k8s.io'];
const TYPE_PROPERTY = 'clusterpass.dev/type';
const MAX_PROPERTY_LENGTH = 1_024;
const MAX_MESSAGE_LENGTH = 1_024;
/** The pattern of `metav1.Condition`. */
const REASON = /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const MAX_REASON_LENGTH = 1_024;

/** What profiles say besides what their clusters say. */
export interface ProfileSettings {
  /** The name of the cluster manager: a label value, different for each Clusterpass. */
  readonly manager: string;
  /** The name under which consumers configure the exec plugin. */
  readonly provider: string;
  /** Labels of the cluster that become properties. */
  readonly properties: readonly string[];
}

export const PROFILE_LABELS: ReadonlySet<string> = new Set([MANAGER_LABEL, MEMBER_LABEL]);

/** Own properties only: `constructor` is a legal label key that every record inherits. */
const labelOf = (labels: Readonly<Record<string, string>>, key: string): string =>
  Object.hasOwn(labels, key) ? (labels[key] ?? '') : '';

/** CP-74: the labels of the cluster, the manager and the member id. A cluster cannot choose the manager. */
export function profileLabels(
  { name, uid, labels = {} }: Parameters<Projection['labelsOf']>[0],
  manager: string,
): Record<string, string> {
  const own = labelOf(labels, MEMBER_LABEL);
  const member = own !== '' ? own : isValidLabelValue(name).length === 0 ? name : uid;
  return { ...labels, [MANAGER_LABEL]: manager, [MEMBER_LABEL]: member };
}

/** CP-72: a UUIDv5 (RFC 9562) of the namespace in the name space of the cluster's uid. */
export function profileUid(clusterUid: string, namespace: string): string {
  const digest = createHash('sha1')
    .update(Buffer.from(clusterUid.replaceAll('-', ''), 'hex'))
    .update(namespace)
    .digest()
    .subarray(0, 16);
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  return digest.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

interface ProfileTarget {
  /** `v1alpha1`, `v1alpha2`: both have the same content. */
  readonly version: string;
  readonly namespace: string;
  /** The endpoints in force; see `endpointsInForce`. */
  readonly endpoints: ApiEndpoints;
  /** The address for the client; undefined without one: then there is no access provider. */
  readonly server: string | undefined;
}

export function toClusterProfile(cluster: ApiObject, settings: ProfileSettings, target: ProfileTarget): ApiObject {
  const { name = '', uid = '', labels, creationTimestamp, deletionTimestamp, resourceVersion } = cluster.metadata;
  const metadata: ObjectMeta = defined({
    name,
    namespace: target.namespace,
    uid: profileUid(uid, target.namespace),
    resourceVersion,
    generation: 1,
    creationTimestamp,
    deletionTimestamp,
    labels: profileLabels({ name, uid, labels }, settings.manager),
  });
  const { version } = statusOf(cluster);
  const properties = propertiesOf(cluster, settings);
  const providers = accessProviders(name, settings, target);
  return {
    apiVersion: `${PROFILE_GROUP}/${target.version}`,
    kind: PROFILE_KIND,
    metadata,
    spec: { displayName: name, clusterManager: { name: settings.manager } },
    status: {
      conditions: [healthOf(cluster), joinedAt(creationTimestamp)],
      ...(version ? { version: { kubernetes: version } } : {}),
      ...(properties.length === 0 ? {} : { properties }),
      ...(providers.length === 0 ? {} : { accessProviders: providers }),
    },
  };
}

/** CP-78 */
function healthOf(cluster: ApiObject): ClusterCondition {
  const ready = conditionOf(statusOf(cluster), 'Ready');
  const created = cluster.metadata.creationTimestamp;
  const { status = 'Unknown', reason = '', message = '', lastTransitionTime = created } = ready ?? {};
  const fits = reason.length <= MAX_REASON_LENGTH && REASON.test(reason);
  return {
    type: 'ControlPlaneHealthy',
    status,
    reason: ready === undefined ? 'NotReported' : fits ? reason : 'Reported',
    message: truncate(message, MAX_MESSAGE_LENGTH),
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
  };
}

/** CP-79 */
const joinedAt = (created: string | undefined): ClusterCondition => ({
  type: 'Joined',
  status: 'True',
  reason: 'Registered',
  message: 'The cluster is registered.',
  ...(created === undefined ? {} : { lastTransitionTime: created }),
});

/** CP-81: an empty value would be invalid. */
function propertiesOf(cluster: ApiObject, settings: ProfileSettings): { name: string; value: string }[] {
  const { labels = {} } = cluster.metadata;
  const values = new Map([...ABOUT_PROPERTIES, ...settings.properties].map((name) => [name, labelOf(labels, name)]));
  values.set(TYPE_PROPERTY, statusOf(cluster).type ?? '');
  return [...values]
    .filter(([, value]) => value !== '')
    .map(([name, value]) => ({ name, value: truncate(value, MAX_PROPERTY_LENGTH) }));
}

/**
 * CP-82 to CP-85. The extension names the cluster and nothing else: who can write profiles elsewhere must not choose
 * where a plugin sends its credential.
 */
function accessProviders(name: string, { provider }: ProfileSettings, { endpoints, server }: ProfileTarget): object[] {
  if (server === undefined) return [];
  const { caBundle = '' } = endpoints;
  const cluster = {
    server,
    ...(caBundle === '' ? {} : { 'certificate-authority-data': caBundle }),
    extensions: [{ name: EXEC_EXTENSION, extension: { clusterName: name } }],
  };
  return [{ name: provider, cluster }];
}
