import { reviewClusterGrants } from '../../../src/client/fleet-reviews.ts';
import type { Client } from '../../../src/client/index.ts';
import { bindingText } from '../grants/grant-changes.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { grantsTo } from './handles.ts';

interface AccountGrantsProps {
  readonly client: Client;
  readonly cluster: string;
  readonly account: { readonly namespace: string; readonly name: string };
}

/** MC-93: what the account may do, as far as Clusterpass knows. Inside the cluster its own RBAC decides. */
export function AccountGrants({ client, cluster, account }: AccountGrantsProps) {
  const query = useQuery(JSON.stringify([cluster, account]), async () => {
    const { grants = [], incomplete = false } = await reviewClusterGrants(client, cluster);
    return { grants: grantsTo(account, grants), incomplete };
  });
  return (
    <section aria-label="What the account may do">
      <p className="muted">
        Inside {cluster}, the cluster decides what the account may do; Clusterpass does not know it. At Clusterpass:
      </p>
      {query.status === 'loading' && <p className="muted">Loading…</p>}
      {query.status === 'failed' && (
        <p className="problem">The bindings of this cluster cannot be listed: {query.message}</p>
      )}
      {query.status === 'loaded' && (
        <>
          {query.value.grants.length === 0 ? (
            <p>No binding that you may read gives it anything.</p>
          ) : (
            <ul>
              {query.value.grants.map((grant) => (
                <li key={bindingText(grant)} className="wrap-anywhere">
                  {bindingText(grant)}
                </li>
              ))}
            </ul>
          )}
          {query.value.incomplete && <p className="muted">Bindings that you may not read are left out.</p>}
        </>
      )}
    </section>
  );
}
