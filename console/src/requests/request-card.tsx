import { useId, useState } from 'react';
import type { RequestDecision } from '../../../src/api/kinds/access-request-spec.ts';
import type { Client } from '../../../src/client/index.ts';
import { TextField } from '../components/text-field.tsx';
import { Age, Remaining } from '../components/time.tsx';
import { errorMessage } from '../error-message.ts';
import { ServerControls } from '../hooks/use-connected.tsx';
import { formatDuration } from '../pass/lifetime.ts';
import { type AccessRequestObject, accessOf, decideRequest, phaseOf } from './access-requests.ts';

interface RequestCardProps {
  readonly client: Client;
  readonly request: AccessRequestObject;
  readonly isOwn: boolean;
  readonly onDecided: () => void;
}

const DONE: Readonly<Record<RequestDecision, string>> = {
  Approved: 'Approve',
  Denied: 'Deny',
  Withdrawn: 'Withdraw',
};

/** A requester withdraws; others approve or deny, and can end what was approved. The server decides who may. */
function decisionsFor(phase: string, isOwn: boolean): RequestDecision[] {
  if (phase === 'Pending') return isOwn ? ['Withdrawn'] : ['Approved', 'Denied'];
  return phase === 'Approved' ? ['Withdrawn'] : [];
}

export function RequestCard({ client, request, isOwn, onDecided }: RequestCardProps) {
  const id = useId();
  const [message, setMessage] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const { metadata, spec, status = {} } = request;
  const phase = phaseOf(request);
  const decisions = decisionsFor(phase, isOwn);
  const decide = async (type: RequestDecision): Promise<void> => {
    setBusy(true);
    setProblem('');
    try {
      await decideRequest(client, request, type, message);
      onDecided();
    } catch (error) {
      setProblem(errorMessage(error));
    }
    setBusy(false);
  };
  return (
    <article className="card section" aria-labelledby={id}>
      <header className="section-head">
        <h2 id={id} className="wrap-anywhere">
          {isOwn ? 'You ask' : `${spec.requestedBy?.username} asks`} for{' '}
          {accessOf(spec).replace(/^to /, 'permission to ')}
        </h2>
        <span className={`state state-${phase.toLowerCase()}`}>{phase}</span>
      </header>
      <p className="wrap-anywhere">{spec.reason}</p>
      <p className="muted">
        <span className="mono">{metadata.name}</span>, asked <Age at={metadata.creationTimestamp ?? ''} />, for{' '}
        {formatDuration(spec.durationSeconds ?? 3_600)}
        {status.decidedBy !== undefined && `, decided by ${status.decidedBy.username}`}
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
      {problem !== '' && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {decisions.length > 0 && (
        <ServerControls>
          <div className="decision">
            <TextField label="Message" value={message} placeholder="Optional" keepsSpaces onChange={setMessage} />
            <div className="actions">
              {decisions.map((type) => (
                <button
                  key={type}
                  type="button"
                  className={type === 'Approved' ? 'button primary' : 'button danger'}
                  disabled={busy}
                  onClick={() => decide(type)}
                >
                  {DONE[type]}
                </button>
              ))}
            </div>
          </div>
        </ServerControls>
      )}
    </article>
  );
}
