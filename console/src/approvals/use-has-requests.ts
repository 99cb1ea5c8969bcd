import type { Client } from '../../../src/client/index.ts';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { hasApprovals } from './approvals.ts';

/**
 * Whether there are requests that the user made or may decide. Permissions in single clusters do not show in rules. A
 * new `version` asks again.
 */
export function useHasRequests(client: Client, version: number): boolean {
  const { generation } = useRefresh();
  const query = useQuery('', () => hasApprovals(client), generation + version);
  return query.status === 'loaded' && query.value;
}
