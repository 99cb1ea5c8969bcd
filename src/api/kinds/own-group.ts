/** The group of the kinds that Kubernetes has nothing like. */
export const OWN_GROUP = 'clusterpass.dev';
export const OWN_VERSION = 'v1alpha1';
