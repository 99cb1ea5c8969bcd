import { useState } from 'react';
import type { GrantPath, ReachedCluster } from '../../../src/api/kinds/grant-reviews.ts';
import { reviewReach } from '../../../src/client/access-reviews.ts';
import type { Client } from '../../../src/client/index.ts';
import { TextField } from '../components/text-field.tsx';
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

/** May do everything, without a binding. */
const MASTERS = 'system:masters';

/** More rows than a person reads. */
const MAX_SHOWN = 50;

/** The clusters that a person sees, and the passes that the person gets: as a person, and of accounts. */
export function Reach({ client, user, groups }: ReachProps) {
  const [search, setSearch] = useState('');
  const query = useQuery(JSON.stringify([user, groups]), async () =>
    reviewReach(client, undefined, { user, groups: [...new Set([...groups, AUTHENTICATED])] }),
  );
  if (query.status === 'loading') return <p className="muted">Loading…</p>;
  if (query.status === 'failed') return <p className="problem">{query.message}</p>;
  const clusters = query.value;
  if (clusters.length === 0) return <p>Reaches no cluster.</p>;
  const found = clusters.filter(({ name }) => name.includes(search));
  const pathText = (path: GrantPath): string =>
    path.binding === undefined && groups.includes(MASTERS) ? `${MASTERS}, without a binding` : bindingText(path);
  return (
    <>
      <p className="muted" role="status">
        {clusters.length === 1 ? 'Reaches 1 cluster.' : `Reaches ${clusters.length.toLocaleString()} clusters.`}
      </p>
      {clusters.length > MAX_SHOWN && <TextField label="Search clusters" value={search} onChange={setSearch} />}
      <table className="list">
        <thead>
          <tr>
            <th scope="col">Cluster</th>
            <th scope="col">Sees it as</th>
            <th scope="col">Gets passes for</th>
          </tr>
        </thead>
        <tbody>
          {found.slice(0, MAX_SHOWN).map((cluster) => (
            <Row key={cluster.name} cluster={cluster} pathText={pathText} />
          ))}
        </tbody>
      </table>
      {found.length > MAX_SHOWN && (
        <p className="muted">{(found.length - MAX_SHOWN).toLocaleString()} more: search for the cluster.</p>
      )}
    </>
  );
}

interface RowProps {
  readonly cluster: ReachedCluster;
  readonly pathText: (path: GrantPath) => string;
}

function Row({ cluster: { name, visible, userpass, accounts, ...via }, pathText }: RowProps) {
  return (
    <tr>
      <th scope="row" data-label="Cluster">
        <a href={hrefOf({ page: 'cluster', name })}>{name}</a>
      </th>
      <td data-label="Sees it as" className="muted wrap-anywhere">
        {visible ? pathText(via) : 'does not see it'}
      </td>
      <td data-label="Gets passes for">
        {accounts.length === 0 && userpass === undefined ? (
          <span className="muted">no account</span>
        ) : (
          <ul>
            {userpass !== undefined && (
              <li className="wrap-anywhere">
                themselves <span className="muted hint">{pathText(userpass)}</span>
              </li>
            )}
            {accounts.map((account) => (
              <li key={`${account.namespace}/${account.name}`} className="wrap-anywhere">
                {account.namespace}/{account.name} <span className="muted hint">{pathText(account)}</span>
              </li>
            ))}
          </ul>
        )}
      </td>
    </tr>
  );
}
