import { MANAGER_LABEL, MEMBER_LABEL, PROFILE_GROUP, PROFILE_RESOURCE } from '../../api/clusters/profile-of-cluster.ts';
import type { ApiObject } from '../../api/kind.ts';
import { keyOf } from '../plan.ts';
import { conditionIn, failed, type ImportSource, skipped, type Unusable, versionIn } from './import-source.ts';

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

/** CP-93: ClusterProfiles of SIG Multicluster. */
export const clusterprofile: ImportSource = {
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
      return skipped(`status.accessProviders has none ${wanted}`);
    }
    if (cluster['insecure-skip-tls-verify'] === true) {
      return failed(`its access provider ${provider?.name} does not verify the certificate`);
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
function duplicateMembers(objects: readonly ApiObject[]): ReadonlyMap<string, Unusable> {
  const byMember = Map.groupBy(objects, ({ metadata }) => metadata.labels?.[MEMBER_LABEL] ?? '');
  const found = new Map<string, Unusable>();
  for (const [member, profiles] of byMember) {
    if (member === '' || profiles.length === 1) continue;
    const times = profiles.map(({ metadata }) => metadata.creationTimestamp ?? '').sort();
    const [oldest, next] = times;
    for (const profile of profiles) {
      if (oldest !== next && profile.metadata.creationTimestamp === oldest) continue;
      const several = `several profiles have the member id ${JSON.stringify(member)}`;
      const isTie = oldest === next;
      const problem = isTie
        ? failed(`${several}, and none is the oldest`)
        : skipped(`${several}, and this is not the oldest`);
      found.set(keyOf(profile), problem);
    }
  }
  return found;
}
