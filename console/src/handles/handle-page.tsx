import { useState } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { type Detail, DetailList } from '../components/section.tsx';
import { Age, Remaining } from '../components/time.tsx';
import { useNow } from '../hooks/use-now.ts';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { formatDuration } from '../pass/lifetime.ts';
import { type Decision, DecisionForm } from '../requests/decision-form.tsx';
import { hrefOf, linkTo } from '../router.ts';
import { AccountGrants } from './account-grants.tsx';
import { accountOf, decideHandle, decisionsFor, getHandle, type Handle } from './handles.ts';

interface HandlePageProps {
  readonly name: string;
  readonly client: Client;
  readonly username: string;
}

const INTERVAL_MS = 5_000;

/** One pass: who asks for what, and why. Here a person approves what an agent has asked for. */
export function HandlePage({ name, client, username }: HandlePageProps) {
  const { generation } = useRefresh();
  const [changes, setChanges] = useState(0);
  const round = Math.floor(useNow(INTERVAL_MS) / INTERVAL_MS);
  const query = useQuery(name, () => getHandle(client, name), generation + changes + round);
  const decide = async (type: Decision, message: string): Promise<void> => {
    await decideHandle(client, name, type, message);
    setChanges((old) => old + 1);
  };
  return (
    <div className="page-body stack">
      <header className="page-head">
        <h1>Pass</h1>
        <a href={linkTo('passes')}>All passes</a>
      </header>
      {query.status === 'loading' && <p className="muted">Loading…</p>}
      {query.status === 'failed' && <p className="problem">{query.message}</p>}
      {query.status === 'loaded' && (
        <HandleCard handle={query.value} client={client} username={username} decide={decide} />
      )}
    </div>
  );
}

interface HandleCardProps {
  readonly handle: Handle;
  readonly client: Client;
  readonly username: string;
  readonly decide: (type: Decision, message: string) => Promise<void>;
}

const NEEDS: Readonly<Record<string, string>> = {
  confirm: 'Waits for the requester, who confirms it here.',
  review: 'Waits for another person, who may approve passes in this cluster.',
};

function HandleCard({ handle, client, username, decide }: HandleCardProps) {
  const { metadata, spec, status = {} } = handle;
  const isOwn = spec.requestedBy?.username === username;
  const { phase = '', approval = 'none', expirationTimestamp = '' } = status;
  const isPending = phase === 'Pending';
  return (
    <article className="card section">
      <header className="section-head">
        <h2 className="wrap-anywhere">
          {accountOf(spec)} in <a href={hrefOf({ page: 'cluster', name: spec.cluster ?? '' })}>{spec.cluster}</a>
        </h2>
        <span className={`state state-${phase.toLowerCase()}`}>{phase}</span>
      </header>
      <DetailList details={detailsOf(handle, isOwn)} />
      <p className="muted">
        Asked <Age at={metadata.creationTimestamp ?? ''} />
        {(isPending || phase === 'Ready') && (
          <>
            , {isPending ? 'given up' : 'ends'} <Remaining at={expirationTimestamp} />
          </>
        )}
        . {isPending && NEEDS[approval]}
      </p>
      {isPending && (
        <AccountGrants
          client={client}
          cluster={spec.cluster ?? ''}
          account={{ namespace: spec.serviceAccount?.namespace ?? '', name: spec.serviceAccount?.name ?? '' }}
        />
      )}
      <DecisionForm decisions={decisionsFor(handle, isOwn)} decide={decide} />
    </article>
  );
}

/** The texts are those of others, and are shown as they are. What the client calls itself is not verified. */
function detailsOf({ metadata, spec, status }: Handle, isOwn: boolean): Detail[] {
  const { requestedBy, client, purpose = '', audiences, durationSeconds = 0 } = spec;
  const texts: (readonly [string, string | undefined])[] = [
    ['Requester', `${visibleName(requestedBy?.username ?? '')}${isOwn ? ' (you)' : ''}`],
    ['Client', visibleName(client?.id ?? 'none: a person asks')],
    ['Calls itself', client?.name],
    ['Purpose', purpose],
    ['Audiences', audiences?.join(', ') ?? 'the API of the cluster'],
    ['Duration', formatDuration(durationSeconds)],
    ['Handle', metadata.name],
    ['Decided by', status?.decidedBy && visibleName(status.decidedBy.username)],
    ['Tokens issued', String(status?.tokens?.length ?? 0)],
  ];
  return texts.flatMap(([name, text]) =>
    text === undefined ? [] : [{ name, value: <span className="wrap-anywhere">{text}</span> }],
  );
}
