import { reviewResourceAccess } from '../../../src/client/access-reviews.ts';
import { FilterField } from '../components/text-field.tsx';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { SubjectTable } from './subject-table.tsx';

interface WhoCanProps {
  readonly cluster: string;
  /** `namespace/name`; `""` asks who sees the cluster. */
  readonly account: string;
  readonly accounts: readonly string[];
  readonly onAccount: (account: string) => void;
  /** A new one repeats the question. */
  readonly version?: string;
}

/** Who sees a cluster, or gets passes for one of its accounts. */
export function WhoCan({ cluster, account, accounts, onAccount, version = '' }: WhoCanProps) {
  const { client } = useSession();
  const [namespace = '', name = ''] = account.split('/', 2);
  const isComplete = account === '' || (namespace !== '' && name !== '');
  const { generation } = useRefresh();
  const review = async () => {
    if (!isComplete) return undefined;
    const resourceAttributes =
      account === ''
        ? { verb: 'get', group: 'clusterregistry.k8s.io', resource: 'clusters', name: cluster }
        : { verb: 'create', resource: 'serviceaccounts', subresource: 'token', namespace, name };
    return reviewResourceAccess(client, cluster, { resourceAttributes });
  };
  const query = useQuery(`${cluster} ${account} ${version}`, review, generation);
  return (
    <>
      <FilterField
        label="Service account"
        placeholder="Who sees the cluster; or namespace/name"
        value={account}
        suggestions={accounts}
        onChange={onAccount}
      />
      <p className="muted wrap-anywhere">
        {account === ''
          ? 'These users and groups see the cluster.'
          : isComplete
            ? `These users and groups get passes for ${account}.`
            : 'Enter namespace/name.'}
      </p>
      {isComplete && <SubjectTable query={query} />}
    </>
  );
}
