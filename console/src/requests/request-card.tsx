import { useId } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { Age, Remaining } from '../components/time.tsx';
import { formatDuration } from '../pass/lifetime.ts';
import { type AccessRequestObject, accessOf, decideRequest, phaseOf } from './access-requests.ts';
import { type Decision, DecisionForm } from './decision-form.tsx';

interface RequestCardProps {
  readonly client: Client;
  readonly request: AccessRequestObject;
  readonly isOwn: boolean;
  readonly onDecided: () => void;
}

/** A requester withdraws; others approve or deny, and can end what was approved. The server decides who may. */
function decisionsFor(phase: string, isOwn: boolean): Decision[] {
  if (phase === 'Pending') return isOwn ? ['Withdrawn'] : ['Approved', 'Denied'];
  return phase === 'Approved' ? ['Withdrawn'] : [];
}

export function RequestCard({ client, request, isOwn, onDecided }: RequestCardProps) {
  const id = useId();
  const { metadata, spec, status = {} } = request;
  const phase = phaseOf(request);
  const decisions = decisionsFor(phase, isOwn);
  const decide = async (type: Decision, message: string): Promise<void> => {
    await decideRequest(client, request, type, message);
    onDecided();
  };
  return (
    <article className="card section" aria-labelledby={id}>
      <header className="section-head">
        <h2 id={id} className="wrap-anywhere">
          {isOwn ? 'You ask' : `${visibleName(spec.requestedBy?.username ?? '')} asks`} for{' '}
          {accessOf(spec).replace(/^to /, 'permission to ')}
        </h2>
        <span className={`state state-${phase.toLowerCase()}`}>{phase}</span>
      </header>
      <p className="wrap-anywhere">{spec.reason}</p>
      <p className="muted">
        <span className="mono">{metadata.name}</span>, asked <Age at={metadata.creationTimestamp ?? ''} />, for{' '}
        {formatDuration(spec.durationSeconds ?? 3_600)}
        {status.decidedBy !== undefined && `, decided by ${visibleName(status.decidedBy.username)}`}
        {decisions.length > 0 && status.expirationTimestamp !== undefined && (
          <>
            , {phase === 'Approved' ? 'ends' : 'expires'} <Remaining at={status.expirationTimestamp} />
          </>
        )}
      </p>
      {(status.conditions ?? []).map(({ type = '', message: text = '' }) =>
        text === '' ? null : (
          <p key={type} className="muted wrap-anywhere">
            {type}: {text}
          </p>
        ),
      )}
      <DecisionForm decisions={decisions} decide={decide} />
    </article>
  );
}
