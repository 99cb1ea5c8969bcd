import type { ApiObject } from '../api/kind.ts';
import { MANAGER_LABEL, MEMBER_LABEL, PROFILE_GROUP, PROFILE_RESOURCE } from '../api/profile-of-cluster.ts';
import type { KubeconfigCluster } from './kubeconfig-cluster.ts';
import { keyOf } from './plan.ts';

/** Where clusters are registered: what is read there, and how it is understood. No credential is read anywhere. */

export const IMPORT_SOURCES = ['capi', 'ocm', 'clusterprofile'] as const;
export type ImportFrom = (typeof IMPORT_SOURCES)[number];

/** A condition of a hub. */
export interface HubCondition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** A cluster as a hub describes it. */
export interface Found {
  /** https URLs, the preferred one first. */
  readonly addresses: readonly string[];
  /** PEM in base64. */
  readonly caBundle?: string | undefined;
  readonly health?: HubCondition | undefined;
  readonly version?: string | undefined;
  /** Values that `--copy-label` can name besides the labels of the object. */
  readonly claims?: Readonly<Record<string, string>>;
  /** What is imported differently than the hub has it. */
  readonly warning?: string | undefined;
}

/** Why the cluster is not imported. */
export interface Unusable {
  readonly problem: string;
}

export interface SourceSettings {
  readonly withoutCa: boolean;
  /** Of ClusterProfiles: the name of the access provider; undefined: the first with an https address. */
  readonly accessProvider: string | undefined;
  /** Of ClusterProfiles: profiles of this manager are our own exports. */
  readonly manager: string;
  /** Reads address and CA in the kubeconfig of a CAPI cluster. */
  readonly readKubeconfig: (cluster: ApiObject) => Promise<KubeconfigCluster | Unusable>;
}

export interface ImportSource {
  readonly group: string;
  readonly resource: string;
  /** The preferred one first. */
  readonly versions: readonly string[];
  readonly isNamespaced: boolean;
  translate(object: ApiObject, settings: SourceSettings): Promise<Found | Unusable>;
  /** Objects that describe the cluster of another object, by key, with the reason. */
  duplicates?(objects: readonly ApiObject[], settings: SourceSettings): ReadonlyMap<string, string>;
  /** Objects that the import ignores. */
  ignores?(object: ApiObject, settings: SourceSettings): boolean;
}

const conditionIn = (object: ApiObject, ...types: readonly string[]): HubCondition | undefined => {
  const { conditions } = (object.status ?? {}) as { conditions?: unknown };
  if (!Array.isArray(conditions)) return undefined;
  return types
    .map((type) => (conditions as HubCondition[]).find((condition) => condition?.type === type))
    .find((condition) => condition !== undefined);
};

const versionIn = (object: ApiObject): string | undefined =>
  (object.status as { version?: { kubernetes?: string } } | undefined)?.version?.kubernetes || undefined;

/** CP-90 */
const capi: ImportSource = {
  group: 'cluster.x-k8s.io',
  resource: 'clusters',
  versions: ['v1beta2', 'v1beta1'],
  isNamespaced: true,
  translate: async (object, settings) => {
    const { controlPlaneEndpoint: endpoint } = (object.spec ?? {}) as {
      controlPlaneEndpoint?: { host?: string; port?: number };
    };
    const { initialization, controlPlaneReady } = (object.status ?? {}) as {
      initialization?: { controlPlaneInitialized?: boolean };
      controlPlaneReady?: boolean;
    };
    if (!endpoint?.host || !endpoint.port) return { problem: 'spec.controlPlaneEndpoint is not set yet' };
    if (initialization?.controlPlaneInitialized !== true && controlPlaneReady !== true) {
      return { problem: 'its control plane is not initialized yet' };
    }
    const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
    const address = `https://${host}:${endpoint.port}`;
    const health = conditionIn(object, 'ControlPlaneAvailable', 'Available');
    if (settings.withoutCa) return { addresses: [address], health };
    const kubeconfig = await settings.readKubeconfig(object);
    if ('problem' in kubeconfig) return kubeconfig;
    const { server, caBundle } = kubeconfig;
    const isSame = sameAddress(server, address);
    return {
      addresses: [isSame ? address : server],
      caBundle,
      health,
      warning: isSame
        ? undefined
        : `its kubeconfig has the address ${server} and spec.controlPlaneEndpoint ${address}; the first is used`,
    };
  },
};

const sameAddress = (a: string, b: string): boolean =>
  URL.canParse(a) && URL.canParse(b) && new URL(a).href === new URL(b).href;

/** CP-92 */
const ocm: ImportSource = {
  group: 'cluster.open-cluster-management.io',
  resource: 'managedclusters',
  versions: ['v1'],
  isNamespaced: false,
  translate: async (object, { withoutCa }) => {
    const { hubAcceptsClient, managedClusterClientConfigs: configs = [] } = (object.spec ?? {}) as {
      hubAcceptsClient?: boolean;
      managedClusterClientConfigs?: readonly { url?: string; caBundle?: string }[];
    };
    if (hubAcceptsClient !== true) return { problem: 'the hub has not accepted it (spec.hubAcceptsClient)' };
    if (conditionIn(object, 'ManagedClusterJoined')?.status !== 'True') return { problem: 'it has not joined the hub' };
    const addresses = configs.map(({ url = '' }) => url).filter((url) => url !== '');
    if (addresses.length === 0)
      return { problem: 'the hub knows no address of it (spec.managedClusterClientConfigs is empty)' };
    const { clusterClaims = [] } = (object.status ?? {}) as {
      clusterClaims?: readonly { name?: string; value?: string }[];
    };
    return {
      addresses,
      caBundle: withoutCa ? undefined : joinBundles(configs.map(({ caBundle = '' }) => caBundle)),
      health: conditionIn(object, 'ManagedClusterConditionAvailable'),
      version: versionIn(object),
      claims: Object.fromEntries(clusterClaims.map(({ name = '', value = '' }) => [name, value])),
    };
  },
};

/** One bundle of several, each in base64. */
function joinBundles(bundles: readonly string[]): string | undefined {
  const distinct = [...new Set(bundles)].filter((bundle) => bundle !== '');
  if (distinct.length <= 1) return distinct[0];
  const texts = distinct.map((bundle) => Buffer.from(bundle, 'base64').toString('utf8').trimEnd());
  return Buffer.from(`${texts.join('\n')}\n`).toString('base64');
}

interface AccessProvider {
  readonly name?: string;
  readonly cluster?: {
    readonly server?: string;
    readonly 'certificate-authority-data'?: string;
    readonly 'insecure-skip-tls-verify'?: boolean;
    readonly 'tls-server-name'?: string;
    readonly 'proxy-url'?: string;
  };
}

/** CP-93 */
const clusterprofile: ImportSource = {
  group: PROFILE_GROUP,
  resource: PROFILE_RESOURCE,
  versions: ['v1alpha2', 'v1alpha1'],
  isNamespaced: true,
  ignores: ({ metadata }, { manager }) => metadata.labels?.[MANAGER_LABEL] === manager,
  duplicates: duplicateMembers,
  translate: async (object, { accessProvider, withoutCa }) => {
    const { accessProviders = [] } = (object.status ?? {}) as { accessProviders?: readonly AccessProvider[] };
    const provider = accessProviders.find(({ name, cluster }) =>
      accessProvider === undefined ? cluster?.server?.startsWith('https://') : name === accessProvider,
    );
    const { cluster } = provider ?? {};
    if (cluster?.server === undefined || cluster.server === '') {
      const wanted = accessProvider === undefined ? 'with an https address' : JSON.stringify(accessProvider);
      return { problem: `status.accessProviders has none ${wanted}` };
    }
    if (cluster['insecure-skip-tls-verify'] === true) {
      return { problem: `its access provider ${provider?.name} does not verify the certificate` };
    }
    const unsupported = (['tls-server-name', 'proxy-url'] as const).filter((field) => cluster[field]);
    return {
      addresses: [cluster.server],
      caBundle: withoutCa ? undefined : cluster['certificate-authority-data'] || undefined,
      health: conditionIn(object, 'ControlPlaneHealthy'),
      version: versionIn(object),
      warning: unsupported.length === 0 ? undefined : `${unsupported.join(' and ')} of its access provider is not used`,
    };
  },
};

/** CP-21: of profiles with the same member id the oldest counts; if two are the oldest, none does. */
function duplicateMembers(objects: readonly ApiObject[]): ReadonlyMap<string, string> {
  const byMember = Map.groupBy(objects, ({ metadata }) => metadata.labels?.[MEMBER_LABEL] ?? '');
  const found = new Map<string, string>();
  for (const [member, profiles] of byMember) {
    if (member === '' || profiles.length === 1) continue;
    const times = profiles.map(({ metadata }) => metadata.creationTimestamp ?? '').sort();
    const [oldest, next] = times;
    for (const profile of profiles) {
      if (oldest !== next && profile.metadata.creationTimestamp === oldest) continue;
      const problem = oldest === next ? 'and none is the oldest' : 'and this is not the oldest';
      found.set(keyOf(profile), `several profiles have the member id ${JSON.stringify(member)}, ${problem}`);
    }
  }
  return found;
}

export const SOURCES: Readonly<Record<ImportFrom, ImportSource>> = { capi, ocm, clusterprofile };

/** The path of the collection of a source. */
export function sourcePath({ group, resource }: ImportSource, version: string, namespace: string | undefined): string {
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/apis/${group}/${version}${scope}/${resource}`;
}
