import { memo, useState } from 'react';
import { First } from '../components/first-rows.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Segments } from '../components/text-field.tsx';
import { useFields } from '../hooks/use-fields.ts';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { type Query, useQuery, useRounds } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { linkTo } from '../router.ts';
import { ApprovalCard } from './approval-card.tsx';
import { type Approval, getApproval, isCurrent, listApprovals, type Resource } from './approvals.ts';
import { RequestForm } from './request-form.tsx';

const INTERVAL_MS = 10_000;
/** Each card asks the server what an approval would do. */
const AT_ONCE = 10;

/** Asks again at an interval, and after a decision. */
function useApprovals<T>(key: string, read: () => Promise<T>): Query<T> {
  const { requests } = useSession();
  return useQuery(key, read, useRounds(INTERVAL_MS) + requests.version);
}

interface CardsProps {
  readonly query: Query<unknown>;
  readonly approvals: readonly Approval[];
}

/** The last decision is said above the cards: the card with its buttons may have gone. */
function Cards({ query, approvals }: CardsProps) {
  const { requests } = useSession();
  const [outcome, setOutcome] = useState('');
  const focused = useFocusAfterChange<HTMLParagraphElement>(outcome);
  const onDecided = (text: string): void => {
    setOutcome(text);
    requests.onChanged();
  };
  return (
    <>
      <p
        className={outcome === '' ? 'visually-hidden' : 'allowed wrap-anywhere'}
        role="status"
        ref={focused}
        tabIndex={-1}
      >
        {outcome}
      </p>
      <Loaded query={query}>
        {() => (
          <First all={approvals} atOnce={AT_ONCE}>
            {(shown) =>
              shown.map((each) => (
                <ApprovalCard key={`${each.resource} ${each.metadata.name}`} approval={each} onDecided={onDecided} />
              ))
            }
          </First>
        )}
      </Loaded>
    </>
  );
}

/** For both sides: people and agents ask for access and passes, and people decide. */
export const ApprovalsPage = memo(function ApprovalsPage({ query: fieldsText }: { readonly query: string }) {
  const { client, requests } = useSession();
  const fields = useFields('requests', fieldsText);
  const query = useApprovals('', () => listApprovals(client));
  const showsAll = fields.get('show') === 'all';
  const now = Date.now();
  const approvals = (query.status === 'loaded' ? query.value : []).filter((each) => showsAll || isCurrent(each, now));
  return (
    <div className="page-body stack">
      <header className="page-head">
        <h1>Requests</h1>
        <Segments
          legend="Which requests"
          value={showsAll ? 'all' : 'open'}
          options={{ open: 'Open', all: 'All' }}
          onChange={(value) => fields.set({ show: value === 'all' ? 'all' : '' })}
        />
      </header>
      <div className="columns two">
        <div className="column">
          <Cards query={query} approvals={approvals} />
          {query.status === 'loaded' && approvals.length === 0 && (
            <p className="muted">{showsAll ? 'No requests.' : 'No request waits, and none is in force.'}</p>
          )}
        </div>
        <div className="column">
          <RequestForm fields={fields} onCreated={requests.onChanged} />
        </div>
      </div>
    </div>
  );
});

interface ApprovalPageProps {
  readonly resource: Resource;
  readonly name: string;
}

/** One request or pass, at the address that its requester gets and sends to an approver. */
export function ApprovalPage({ resource, name }: ApprovalPageProps) {
  const { client } = useSession();
  const query = useApprovals(name, () => getApproval(client, resource, name));
  const approvals = query.status === 'loaded' ? [query.value] : [];
  return (
    <div className="page-body stack">
      <header className="page-head">
        <h1>{resource === 'passes' ? 'Pass' : 'Request'}</h1>
        <a href={linkTo('requests')}>All requests</a>
      </header>
      <Cards query={query} approvals={approvals} />
    </div>
  );
}
