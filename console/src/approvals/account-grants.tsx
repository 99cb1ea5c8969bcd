import { accountUserName } from '../../../src/api/caller.ts';
import type { ClusterGrant } from '../../../src/api/kinds/grant-reviews.ts';
import { reviewClusterGrants } from '../../../src/client/access-reviews.ts';
import type { Client } from '../../../src/client/index.ts';
import { Loaded } from '../components/loaded.tsx';
import { unless } from '../error-message.ts';
import { bindingText } from '../grants/grant-changes.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import type { AccountRef } from '../pass/pass-request.ts';

interface AccountGrantsProps {
  readonly cluster: string;
  readonly account: AccountRef;
}

/** MC-93: what the account may do, as far as Clusterpass knows. Inside the cluster its own RBAC decides. */
export function AccountGrants({ cluster, account }: AccountGrantsProps) {
  const { client } = useSession();
  const query = useQuery(JSON.stringify([cluster, account]), () => readGrants(client, cluster, account));
  return (
    <section aria-label="What the account may do">
      <p className="muted">
        Inside {cluster}, the cluster decides what the account may do; Clusterpass does not know it. At Clusterpass:
      </p>
      <Loaded query={query}>
        {({ grants, incomplete }) => (
          <>
            {grants.length === 0 && <p>No binding that you may read gives it anything.</p>}
            <ul>
              {grants.map((grant) => (
                <li key={bindingText(grant)} className="wrap-anywhere">
                  {bindingText(grant)}
                </li>
              ))}
            </ul>
            {incomplete && <p className="muted">Bindings that you may not read are left out.</p>}
          </>
        )}
      </Loaded>
    </section>
  );
}

/** Who may decide about passes need not be allowed to read bindings. */
export async function readGrants(client: Client, cluster: string, account: AccountRef) {
  const review = await reviewClusterGrants(client, cluster).catch(unless(403));
  const { grants = [], incomplete = review === undefined } = review ?? {};
  return { grants: grantsTo(account, grants), incomplete };
}

/** The bindings of a cluster that name the account, or a group that it is in there. */
export function grantsTo({ namespace, name }: AccountRef, grants: readonly ClusterGrant[]): ClusterGrant[] {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const isAccount = (subject: ClusterGrant['subjects'][number]): boolean => {
    if (subject.kind === 'Group') return groups.includes(subject.name);
    if (subject.kind === 'User') return subject.name === accountUserName(namespace, name);
    return subject.namespace === namespace && subject.name === name;
  };
  return grants.filter(({ subjects }) => subjects.some(isAccount));
}
