import { useEffect, useState } from 'react';
import type { Client, IssuedToken } from '../../../src/client/index.ts';
import type { ClusterFacts } from '../cluster/cluster-facts.ts';
import type { Account } from '../cluster/cluster-page.tsx';
import { Section } from '../cluster/section.tsx';
import { useLoaded, useTurns } from '../parts/loaded.ts';
import { Empty } from '../parts/notice.tsx';
import { hrefOf } from '../router.ts';
import { PassForm } from './pass-form.tsx';
import { PassResult } from './pass-result.tsx';

interface PassSectionProps {
  readonly client: Client;
  readonly cluster: string;
  readonly facts: ClusterFacts;
  readonly account: Account;
  readonly onAccount: (account: Account) => void;
}

const NONE: readonly Account[] = [];

/** From the wish for a pass to the pass. It lives in this part of the page only, and is gone when that is left. */
export function PassSection({ client, cluster, facts, account, onAccount }: PassSectionProps) {
  const [issued, setIssued] = useState<{ readonly pass: IssuedToken; readonly tracked: boolean } | undefined>();
  const [typed, setTyped] = useState(false);
  const { turn, again } = useTurns();
  const accounts = useLoaded(cluster, () => client.usableAccounts(cluster), turn);
  const usable = accounts.phase === 'loaded' && !typed ? accounts.value.items : NONE;
  useEffect(() => {
    const isThere = usable.some(({ namespace, name }) => namespace === account.namespace && name === account.name);
    if (!isThere && usable[0] !== undefined) onAccount(usable[0]);
  }, [usable, account, onAccount]);
  return (
    <Section title="Get a pass">
      {issued !== undefined ? (
        <PassResult
          {...issued}
          client={client}
          cluster={cluster}
          facts={facts}
          onDone={() => {
            setIssued(undefined);
            again();
          }}
        />
      ) : accounts.phase === 'loading' ? (
        <p className="muted pass-room">Looking for accounts that you may use…</p>
      ) : accounts.phase === 'loaded' && accounts.value.items.length === 0 && !typed ? (
        <Empty title="There is no account here that you may use">
          <a className="button" href={hrefOf({ page: 'why', cluster, account: '/' })}>
            What would I need?
          </a>
          <button type="button" className="button quiet" onClick={() => setTyped(true)}>
            Name one all the same
          </button>
        </Empty>
      ) : (
        <PassForm
          client={client}
          cluster={cluster}
          facts={facts}
          accounts={usable}
          onLook={again}
          turn={turn}
          account={account}
          onAccount={onAccount}
          onTypeInstead={accounts.phase === 'loaded' && !typed ? () => setTyped(true) : undefined}
          onIssued={(pass, tracked) => setIssued({ pass, tracked })}
        />
      )}
    </Section>
  );
}
