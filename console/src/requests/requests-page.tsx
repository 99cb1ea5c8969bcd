import { memo, useState } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { Segments } from '../components/text-field.tsx';
import { useFields } from '../hooks/use-fields.ts';
import { useNow } from '../hooks/use-now.ts';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { listRequests, phaseOf } from './access-requests.ts';
import { RequestCard } from './request-card.tsx';
import { RequestForm } from './request-form.tsx';

interface RequestsPageProps {
  readonly client: Client;
  readonly username: string;
  readonly clusterNames: readonly string[];
  readonly query: string;
}

const INTERVAL_MS = 10_000;

/** For both sides: people ask for access, and approvers decide. */
export const RequestsPage = memo(function RequestsPage(props: RequestsPageProps) {
  const { client, username, clusterNames, query } = props;
  const fields = useFields('requests', query);
  const { generation } = useRefresh();
  const [changes, setChanges] = useState(0);
  const round = Math.floor(useNow(INTERVAL_MS) / INTERVAL_MS);
  const list = useQuery('', () => listRequests(client), generation + changes + round);
  const showsAll = fields.get('show') === 'all';
  const requests = (list.status === 'loaded' ? list.value : []).filter(
    (request) => showsAll || ['Pending', 'Approved'].includes(phaseOf(request)),
  );
  const reload = (): void => setChanges((old) => old + 1);
  return (
    <div className="page-body stack">
      <header className="page-head">
        <h1>Access requests</h1>
        <Segments
          legend="Which requests"
          value={showsAll ? 'all' : 'open'}
          options={[
            ['open', 'Open'],
            ['all', 'All'],
          ]}
          onChange={(value) => fields.set({ show: value === 'all' ? 'all' : '' })}
        />
      </header>
      <div className="columns two">
        <div className="column">
          {list.status === 'failed' && <p className="problem">{list.message}</p>}
          {list.status === 'loading' && <p className="muted">Loading…</p>}
          {list.status === 'loaded' && requests.length === 0 && (
            <p className="muted">{showsAll ? 'No requests.' : 'No request waits, and none is in force.'}</p>
          )}
          {requests.map((request) => (
            <RequestCard
              key={request.metadata.name}
              client={client}
              request={request}
              isOwn={request.spec.requestedBy?.username === username}
              onDecided={reload}
            />
          ))}
        </div>
        <div className="column">
          <RequestForm
            client={client}
            username={username}
            fields={fields}
            clusterNames={clusterNames}
            onCreated={reload}
          />
        </div>
      </div>
    </div>
  );
});
