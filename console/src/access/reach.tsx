import type { ReachedCluster } from '../../../src/api/kinds/grant-reviews.ts';
import { reviewReach } from '../../../src/client/access-reviews.ts';
import type { Client } from '../../../src/client/index.ts';
import { bindingText } from '../grants/grant-changes.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { hrefOf } from '../router.ts';

interface ReachProps {
  readonly client: Client;
  readonly user: string;
  readonly groups: readonly string[];
}

/** Every signed-in user is in this group. */
const AUTHENTICATED = 'system:authenticated';

/** The clusters that a person sees, and the passes that the person gets: as a person, and of accounts. */
export function Reach({ client, user, groups }: ReachProps) {
  const query = useQuery(JSON.stringify([user, groups]), async () =>
    reviewReach(client, undefined, { user, groups: [...new Set([...groups, AUTHENTICATED])] }),
  );
  if (query.status === 'loading') return <p className="muted">Loading…</p>;
  if (query.status === 'failed') return <p className="problem">{query.message}</p>;
  const clusters = query.value;
  if (clusters.length === 0) return <p>Reaches no cluster.</p>;
  return (
    <>
      <p className="muted" role="status">
        {clusters.length === 1 ? 'Reaches 1 cluster.' : `Reaches ${clusters.length.toLocaleString()} clusters.`}
      </p>
      <table className="list">
        <thead>
          <tr>
            <th scope="col">Cluster</th>
            <th scope="col">Sees it as</th>
            <th scope="col">Gets passes for</th>
          </tr>
        </thead>
        <tbody>
          {clusters.map((cluster) => (
            <Row key={cluster.name} cluster={cluster} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function Row({ cluster: { name, visible, userpass, accounts, ...via } }: { cluster: ReachedCluster }) {
  return (
    <tr>
      <th scope="row" data-label="Cluster">
        <a href={hrefOf({ page: 'cluster', name })}>{name}</a>
      </th>
      <td data-label="Sees it as" className="muted wrap-anywhere">
        {visible
          ? via.binding === undefined
            ? 'system:masters, or a binding that you may not read'
            : bindingText(via)
          : 'does not see it'}
      </td>
      <td data-label="Gets passes for">
        {accounts.length === 0 && userpass === undefined ? (
          <span className="muted">no account</span>
        ) : (
          <ul>
            {userpass !== undefined && (
              <li className="wrap-anywhere">
                themselves <span className="muted hint">{bindingText(userpass)}</span>
              </li>
            )}
            {accounts.map((account) => (
              <li key={`${account.namespace}/${account.name}`} className="wrap-anywhere">
                {account.namespace}/{account.name} <span className="muted hint">{bindingText(account)}</span>
              </li>
            ))}
          </ul>
        )}
      </td>
    </tr>
  );
}
