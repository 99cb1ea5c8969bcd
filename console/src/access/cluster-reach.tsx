import { useState } from 'react';
import { givesPassesOf } from '../../../src/api/reach.ts';
import { reviewResourceAccess } from '../../../src/client/access-reviews.ts';
import { countOf } from '../components/count.ts';
import { Loaded } from '../components/loaded.tsx';
import { FilterField, suggestionsOf } from '../components/text-field.tsx';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { ReachTable } from './reach-table.tsx';

interface ClusterReachProps {
  readonly cluster: string;
  /** `namespace/name`: only those who get passes of this account. */
  readonly account: string;
  readonly accounts: readonly string[];
  readonly onAccount: (account: string) => void;
  /** A new one repeats the question. */
  readonly version?: string;
}

/** Everyone who reaches a cluster. */
export function ClusterReach({ cluster, account, accounts, onAccount, version = '' }: ClusterReachProps) {
  const { client } = useSession();
  const [namespace = '', name = ''] = account.split('/', 2);
  const isComplete = account === '' || (namespace !== '' && name !== '');
  const { generation } = useRefresh();
  const [removals, setRemovals] = useState(0);
  const query = useQuery(
    `${cluster} ${version}`,
    () => reviewResourceAccess(client, cluster, { reach: true }),
    generation + removals,
  );
  return (
    <>
      <FilterField
        label="Passes of the service account"
        placeholder="namespace/name"
        value={account}
        suggestions={suggestionsOf(accounts)}
        hint={isComplete ? 'Only those who get its passes, also after an approval.' : 'Enter namespace/name.'}
        onChange={onAccount}
      />
      <Loaded query={query}>
        {({ subjects = [], evaluationError = '' }) => {
          const isShown = ({ gives = [] }: (typeof subjects)[number]): boolean =>
            !isComplete || account === '' || gives.some((each) => givesPassesOf({ namespace, name }, each));
          const rows = subjects.filter(isShown);
          return (
            <ReachTable
              rows={rows}
              count={countOf(rows.length, 'grant')}
              incomplete={evaluationError}
              onRemoved={() => setRemovals((old) => old + 1)}
            />
          );
        }}
      </Loaded>
    </>
  );
}
