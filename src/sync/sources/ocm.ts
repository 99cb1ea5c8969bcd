import { conditionIn, type ImportSource, skipped, versionIn } from './import-source.ts';

/** CP-92: ManagedClusters of Open Cluster Management. */
export const ocm: ImportSource = {
  group: 'cluster.open-cluster-management.io',
  resource: 'managedclusters',
  versions: ['v1'],
  isNamespaced: false,
  translate: async (object, { withoutCa }) => {
    const { hubAcceptsClient, managedClusterClientConfigs: configs = [] } = (object.spec ?? {}) as {
      hubAcceptsClient?: boolean;
      managedClusterClientConfigs?: readonly { url?: string; caBundle?: string }[];
    };
    if (hubAcceptsClient !== true) return skipped('the hub has not accepted it (spec.hubAcceptsClient)');
    if (conditionIn(object, 'ManagedClusterJoined')?.status !== 'True') return skipped('it has not joined the hub');
    const addresses = configs.map(({ url = '' }) => url).filter((url) => url !== '');
    if (addresses.length === 0) {
      return skipped('the hub knows no address of it (spec.managedClusterClientConfigs is empty)');
    }
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
