import { useState } from 'react';
import { reviewAuditEvents, reviewReach } from '../../../src/client/access-reviews.ts';
import { countOf } from '../components/count.ts';
import { Loaded } from '../components/loaded.tsx';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { ReachTable } from './reach-table.tsx';

interface ReachProps {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Every signed-in user is in this group. */
const AUTHENTICATED = 'system:authenticated';

/** What a person reaches, in every cluster. */
export function Reach({ user, groups }: ReachProps) {
  const { client } = useSession();
  const { generation } = useRefresh();
  const [removals, setRemovals] = useState(0);
  const query = useQuery(
    JSON.stringify([user, groups]),
    () => reviewReach(client, undefined, { user, groups: [...new Set([...groups, AUTHENTICATED])] }),
    generation + removals,
  );
  return (
    <Loaded query={query}>
      {({ clusters, evaluationError }) => (
        <ReachTable
          rows={clusters.flatMap(({ name, subjects }) => subjects.map((subject) => ({ ...subject, cluster: name })))}
          count={`Reaches ${countOf(clusters.length, 'cluster')}.`}
          incomplete={evaluationError}
          onRemoved={() => setRemovals((old) => old + 1)}
        />
      )}
    </Loaded>
  );
}

/** Offers the groups that a person had at the last sign-in, as far as the server remembers its requests. */
export function LastGroups({ user, onUse }: { readonly user: string; readonly onUse: (groups: string[]) => void }) {
  const { client } = useSession();
  const query = useQuery(user, async () => {
    const { events = [] } = user === '' ? {} : await reviewAuditEvents(client, undefined, { user, limit: 20 });
    const lists = events.map(({ groups = [] }) => groups.filter((group) => group !== AUTHENTICATED));
    return lists.find(({ length }) => length > 0) ?? [];
  });
  if (query.status !== 'loaded' || query.value.length === 0) return null;
  const groups = query.value;
  return (
    <p className="wrap-anywhere">
      At the last sign-in: {groups.join(', ')}{' '}
      <button type="button" className="button small" onClick={() => onUse(groups)}>
        Use these groups
      </button>
    </p>
  );
}
