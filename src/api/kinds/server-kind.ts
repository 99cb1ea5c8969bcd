import { CLUSTERPASS_GROUP, CLUSTERPASS_VERSION } from './meta.ts';

/** What the kinds of Clusterpass have in common, if they do not say otherwise. */
export const serverKind = {
  group: CLUSTERPASS_GROUP,
  version: CLUSTERPASS_VERSION,
  shortNames: [],
  style: 'custom',
  inCluster: false,
  namespaced: false,
  hasStatus: false,
  countsGenerations: false,
} as const;
