import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { RBAC_GROUP } from '../../api/kinds/rbac.ts';
import { CLUSTERPASS_GROUP } from '../../api/kinds/server-kind.ts';

/**
 * API groups whose changes are in the security log, by requests and by the server: roles and bindings; all kinds of
 * `clusterpass.dev`, e.g. signing keys and passes; clusters, whose labels grant and whose address users trust.
 */
export const SECURITY_GROUPS: ReadonlySet<string> = new Set([RBAC_GROUP, CLUSTERPASS_GROUP, CLUSTER_GROUP]);
