import { useId } from 'react';
import { visibleName } from '../../../src/lib/text.ts';
import { type Detail, DetailList } from '../components/section.tsx';
import { Age, Remaining } from '../components/time.tsx';
import { useSession } from '../hooks/use-session.ts';
import { formatDuration } from '../pass/lifetime.ts';
import { hrefOf } from '../router.ts';
import { AccountGrants } from './account-grants.tsx';
import { type Approval, accessOf, decide, decisionsFor, isOpen, phaseOf } from './approvals.ts';
import { DecisionForm } from './decision-form.tsx';

interface ApprovalCardProps {
  readonly approval: Approval;
  readonly onDecided: () => void;
}

const NEEDS: Readonly<Record<string, string>> = {
  confirm: 'Waits for the requester, who confirms it here.',
  review: 'Waits for another person, who may approve passes in this cluster.',
};

/** Who asks for what, and why. Here people decide. */
export function ApprovalCard({ approval, onDecided }: ApprovalCardProps) {
  const { client, username } = useSession();
  const id = useId();
  const { resource, metadata, spec, status = {} } = approval;
  const phase = phaseOf(approval);
  const isOwn = spec.requestedBy?.username === username;
  const { namespace = '', name = '' } = spec.serviceAccount ?? {};
  return (
    <article className="card section" aria-labelledby={id}>
      <header className="section-head">
        <h2 id={id} className="wrap-anywhere">
          {isOwn ? 'You ask' : `${visibleName(spec.requestedBy?.username ?? '')} asks`} for {accessOf(approval)}
        </h2>
        <span className={`state state-${phase.toLowerCase()}`}>{phase}</span>
      </header>
      {resource === 'passes' ? (
        <DetailList details={passDetails(approval)} />
      ) : (
        <>
          <p className="wrap-anywhere">{visibleName(spec.reason ?? '')}</p>
          <p className="muted mono">{metadata.name}</p>
        </>
      )}
      <p className="muted">
        Asked <Age at={metadata.creationTimestamp ?? ''} />, for {formatDuration(spec.durationSeconds ?? 3_600)}
        {status.decidedBy !== undefined && `, decided by ${visibleName(status.decidedBy.username)}`}
        {isOpen(approval) && status.expirationTimestamp !== undefined && (
          <>
            , {phase === 'Pending' ? 'given up' : 'ends'} <Remaining at={status.expirationTimestamp} />
          </>
        )}
        . {phase === 'Pending' && NEEDS[status.approval ?? '']}
      </p>
      {(status.conditions ?? []).map(({ type = '', message: text = '' }) =>
        text === '' ? null : (
          <p key={type} className="muted wrap-anywhere">
            {type}: {visibleName(text)}
          </p>
        ),
      )}
      {resource === 'passes' && phase === 'Pending' && (
        <AccountGrants cluster={spec.cluster ?? ''} account={{ namespace, name }} />
      )}
      <DecisionForm
        decisions={decisionsFor(approval, isOwn)}
        decide={async (type, message) => {
          await decide(client, approval, type, message);
          onDecided();
        }}
      />
    </article>
  );
}

/** The texts are those of others. What the client calls itself is not verified. */
function passDetails({ metadata: { name }, spec, status }: Approval): Detail[] {
  const { requestedBy, client, purpose = '', audiences } = spec;
  const texts: (readonly [string, string | undefined])[] = [
    ['Requester', requestedBy?.username ?? ''],
    ['Client', client?.id ?? 'none: a person asks'],
    ['Calls itself', client?.name],
    ['Purpose', purpose],
    ['Audiences', audiences?.join(', ') ?? 'the API of the cluster'],
    ['Tokens issued', String(status?.tokens?.length ?? 0)],
  ];
  const details = texts.flatMap(([title, text]) =>
    text === undefined ? [] : [{ name: title, value: <span className="wrap-anywhere">{visibleName(text)}</span> }],
  );
  return [...details, { name: 'Handle', value: <a href={hrefOf({ page: 'pass', name })}>{name}</a> }];
}
