/** Paths in the fleet of `--demo`, and one caller that the demo does not have. */
import { tokenOf } from '../../test/e2e/support/server.ts';

export const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
export const RBAC = '/apis/rbac.authorization.k8s.io/v1';
export const REVIEWS = '/apis/authorization.k8s.io/v1';
export const ACCOUNTS = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts';
export const TOKEN = `${ACCOUNTS}/builder/token`;

/** A caller that may write roles and holds nothing else, until a study binds more to it. */
export const GRANTER = 'granter';
export const GRANTER_TOKEN = tokenOf(GRANTER);

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
