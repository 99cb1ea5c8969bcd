import type { GrantPath, ReachedCluster } from '../../../src/api/kinds/grant-reviews.ts';
import { reviewReach } from '../../../src/client/access-reviews.ts';
import { ClusterList } from '../components/cluster-list.tsx';
import type { Column } from '../components/list-table.tsx';
import { Loaded } from '../components/loaded.tsx';
import { bindingText } from '../grants/grant-changes.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { hrefOf } from '../router.ts';

interface ReachProps {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Every signed-in user is in this group. */
const AUTHENTICATED = 'system:authenticated';

/** May do everything, without a binding. */
const MASTERS = 'system:masters';

/** The clusters that a person sees, and the passes that the person gets: as a person, and of accounts. */
export function Reach({ user, groups }: ReachProps) {
  const { client } = useSession();
  const query = useQuery(JSON.stringify([user, groups]), async () =>
    reviewReach(client, undefined, { user, groups: [...new Set([...groups, AUTHENTICATED])] }),
  );
  const pathText = (path: GrantPath): string =>
    path.binding === undefined && groups.includes(MASTERS) ? `${MASTERS}, without a binding` : bindingText(path);
  return (
    <Loaded query={query}>
      {(clusters) => (
        <>
          <p className="muted" role="status">
            {clusters.length === 1 ? 'Reaches 1 cluster.' : `Reaches ${clusters.length.toLocaleString()} clusters.`}
          </p>
          <ClusterList
            label="Search clusters"
            columns={columns(pathText)}
            rows={clusters}
            clusterOf={({ name }) => name}
          />
        </>
      )}
    </Loaded>
  );
}

const columns = (pathText: (path: GrantPath) => string): Column<ReachedCluster>[] => [
  {
    title: 'Cluster',
    isHeader: true,
    cell: ({ name }) => <a href={hrefOf({ page: 'cluster', name })}>{name}</a>,
  },
  {
    title: 'Sees it as',
    className: 'muted wrap-anywhere',
    cell: ({ visible, ...via }) => (visible ? pathText(via) : 'does not see it'),
  },
  {
    title: 'Gets passes for',
    cell: ({ accounts, userpass }) => {
      if (accounts.length === 0 && userpass === undefined) return <span className="muted">no account</span>;
      const person = userpass === undefined ? [] : [{ who: 'themselves', via: userpass }];
      const paths = [...person, ...accounts.map((via) => ({ who: `${via.namespace}/${via.name}`, via }))];
      return (
        <ul>
          {paths.map(({ who, via }) => (
            <li key={who} className="wrap-anywhere">
              {who} <span className="muted hint">{pathText(via)}</span>
            </li>
          ))}
        </ul>
      );
    },
  },
];
