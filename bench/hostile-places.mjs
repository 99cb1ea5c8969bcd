/** Where the hostile requests go: the fleet of `--demo`, with one more caller. */

export const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
export const RBAC = '/apis/rbac.authorization.k8s.io/v1';
export const REVIEWS = '/apis/authorization.k8s.io/v1';
export const ACCOUNTS = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts';
export const TOKEN = `${ACCOUNTS}/builder/token`;

/** Of a caller who may grant what it holds, and may do nothing else. */
export const GRANTER_TOKEN = 'token-of-granter-0123456789';

/**
 * @template T
 * @param {number} count
 * @param {(index: number) => T} make
 * @returns {T[]}
 */
export const times = (count, make) => Array.from({ length: count }, (_, index) => make(index));
