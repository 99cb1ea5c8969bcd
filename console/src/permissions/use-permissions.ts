import { useMemo } from 'react';
import { type Client, reviewRules } from '../../../src/client/index.ts';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { NO_PERMISSIONS, type Permissions, permissionsOf } from './permissions.ts';

/** A review of rules needs a namespace. Objects of the fleet have none, so any will do. */
const ANY_NAMESPACE = 'default';

/**
 * The permissions of the user in the fleet, or in one cluster, where bindings that are restricted to clusters count,
 * too. None until the server has answered. They are read again when the page regains focus, and when `version` grows.
 */
export function usePermissions(client: Client, cluster: string | undefined, version = 0): Permissions {
  const { generation } = useRefresh();
  const query = useQuery(cluster ?? '', () => reviewRules(client, cluster, ANY_NAMESPACE), generation + version);
  const status = query.status === 'loaded' ? query.value : undefined;
  return useMemo(() => (status === undefined ? NO_PERMISSIONS : permissionsOf(status)), [status]);
}
