import { useQuery, useRounds } from '../hooks/use-query.ts';
import type { SessionParts } from '../hooks/use-session.ts';
import { CLUSTERPASS } from '../permissions/permissions.ts';
import { countWaiting, RESOURCES } from './approvals.ts';

const INTERVAL_MS = 30_000;

/**
 * How many requests wait for the user; undefined if the user sees none. Asks again with time, with a new `version`, and
 * when the page gets the focus.
 */
export function useWaiting(
  { client, username, permissions: { can } }: Pick<SessionParts, 'client' | 'username' | 'permissions'>,
  version: number,
): number | undefined {
  const round = useRounds(INTERVAL_MS);
  // A user who lists all of them and may not decide is an auditor.
  const decided = RESOURCES.filter((each) => can('approve', CLUSTERPASS, each) || !can('list', CLUSTERPASS, each));
  const query = useQuery(decided.join(), () => countWaiting(client, username, decided), version + round);
  return query.status === 'loaded' ? query.value : undefined;
}
