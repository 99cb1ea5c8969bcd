/** Paths of collections of the fleet. */

export const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
export const RBAC_GROUP = 'rbac.authorization.k8s.io';
export const RBAC = `/apis/${RBAC_GROUP}/v1`;
