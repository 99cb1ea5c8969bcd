/** What every Cluster begins with. */
export const CLUSTER_TYPE = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' } as const;
