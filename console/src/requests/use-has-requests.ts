import type { Client } from '../../../src/client/index.ts';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { hasRequests } from './access-requests.ts';

/** Whether there are requests that the user made or may decide. Permissions in single clusters do not show in rules. */
export function useHasRequests(client: Client): boolean {
  const { generation } = useRefresh();
  const query = useQuery('', () => hasRequests(client), generation);
  return query.status === 'loaded' && query.value;
}
