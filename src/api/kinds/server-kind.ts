import { CLUSTERPASS_GROUP, CLUSTERPASS_VERSION } from './meta.ts';

/** What issued tokens, revocations, signing keys and bootstrap tokens share: clients do not update these objects. */
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
