import { FULL_CLUSTERS } from '../../../src/client/list-clusters.ts';

/** Of a cluster with all fields that the user may see: the watch has its public view. */
export const clusterPath = (name: string): string => `${FULL_CLUSTERS}/${encodeURIComponent(name)}`;
