import { CLUSTERPASS_GROUP, CLUSTERPASS_VERSION } from './meta.ts';

/** What the kinds of the group `clusterpass.dev` have in common. The server alone writes their objects, for the fleet. */
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
