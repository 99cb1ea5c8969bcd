import { useEffect, useState } from 'react';
import type { IssuedToken } from '../../../src/client/index.ts';
import type { ClusterDetails } from '../cluster/cluster-details.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { Section } from '../components/section.tsx';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { linkTo } from '../router.ts';
import { PassForm } from './pass-form.tsx';
import type { AccountRef } from './pass-request.ts';
import { PassResult } from './pass-result.tsx';
import { PersonPass } from './person-pass.tsx';

interface PassSectionProps {
  readonly cluster: string;
  readonly details: ClusterDetails;
  readonly mayAsk: boolean;
  readonly account: AccountRef;
  readonly onAccount: (account: AccountRef) => void;
}

/** One constant, because an effect depends on it: React compares dependencies by reference. */
const NO_ACCOUNTS: readonly AccountRef[] = [];

/** The form, and then the pass. The pass is only in the state of this component: leaving the page discards it. */
export function PassSection({ cluster, details, mayAsk, account, onAccount }: PassSectionProps) {
  const { client } = useSession();
  const [issued, setIssued] = useState<{ readonly pass: IssuedToken; readonly tracked: boolean } | undefined>();
  const [entersName, setEntersName] = useState(false);
  const { generation, refresh } = useRefresh();
  // On a phone the pass is above the screen.
  const focused = useFocusAfterChange(issued === undefined ? entersName : issued, 'start');
  const query = useQuery(cluster, () => client.usableAccounts(cluster), generation);
  const accounts = query.status === 'loaded' && !entersName ? query.value.items : NO_ACCOUNTS;
  useEffect(() => {
    const isListed = accounts.some(({ namespace, name }) => namespace === account.namespace && name === account.name);
    if (!isListed && accounts[0] !== undefined) onAccount(accounts[0]);
  }, [accounts, account, onAccount]);
  return (
    <Section title={issued === undefined ? 'Get a pass' : `Your pass in ${cluster}`} focusRef={focused}>
      {issued === undefined && (
        <PersonPass cluster={cluster} onIssued={(pass, tracked) => setIssued({ pass, tracked })} />
      )}
      {issued !== undefined ? (
        <PassResult
          {...issued}
          cluster={cluster}
          details={details}
          onDone={() => {
            setIssued(undefined);
            refresh();
          }}
        />
      ) : query.status === 'loading' ? (
        <p className="muted pass-placeholder">Loading service accounts…</p>
      ) : query.status === 'loaded' && query.value.items.length === 0 && !entersName ? (
        <EmptyState title="No service account is available to you">
          <a className="button" href={linkTo('can-i', { cluster, account: '/' })}>
            Which permission do I need?
          </a>
          <button type="button" className="button quiet" onClick={() => setEntersName(true)}>
            Enter a name anyway
          </button>
        </EmptyState>
      ) : (
        <PassForm
          cluster={cluster}
          details={details}
          mayAsk={mayAsk}
          accounts={accounts}
          generation={generation}
          onRefresh={refresh}
          account={account}
          onAccount={onAccount}
          onEnterName={query.status === 'loaded' && !entersName ? () => setEntersName(true) : undefined}
          onIssued={(pass, tracked) => setIssued({ pass, tracked })}
        />
      )}
    </Section>
  );
}
