import { useEffect, useMemo, useState } from 'react';
import { type Client, reviewRules, type SubjectRulesReviewStatus } from '../../../src/client/index.ts';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { type Permissions, permissionsOf, UNKNOWN_PERMISSIONS } from './permissions.ts';

/** A review of rules needs a namespace. Objects of the fleet have none, so any will do. */
const ANY_NAMESPACE = 'default';

const RETRY_MS = 3_000;

export interface UserPermissions {
  readonly permissions: Permissions;
  /** Why they are not known; `""` if they are, and while the server has not answered. */
  readonly problem: string;
}

/**
 * The permissions of the user in the fleet, or in one cluster, where bindings that are restricted to clusters count,
 * too. They are read again when the page regains focus, when `version` grows, and some time after a failure, which
 * leaves them as they were.
 */
export function usePermissions(client: Client, cluster: string | undefined, version = 0): UserPermissions {
  const { generation } = useRefresh();
  const [retries, setRetries] = useState(0);
  const [known, setKnown] = useState<SubjectRulesReviewStatus>();
  const load = (): Promise<SubjectRulesReviewStatus> => reviewRules(client, cluster, ANY_NAMESPACE);
  const query = useQuery(cluster ?? '', load, generation + version + retries);
  if (query.status === 'loaded' && query.value !== known) setKnown(query.value);
  useEffect(() => {
    if (query.status !== 'failed') return;
    const timer = setTimeout(() => setRetries((old) => old + 1), RETRY_MS);
    return () => clearTimeout(timer);
  }, [query]);
  const permissions = useMemo(() => (known === undefined ? UNKNOWN_PERMISSIONS : permissionsOf(known)), [known]);
  const problem = query.status === 'failed' && known === undefined ? query.message : '';
  return { permissions, problem };
}
