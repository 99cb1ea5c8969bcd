import { useId } from 'react';
import { previewRows } from '../../../src/api/kinds/approval.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { CodeBlock } from '../components/code-block.tsx';
import { DetailList, type Details } from '../components/section.tsx';
import { Age, Remaining } from '../components/time.tsx';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { formatDuration } from '../pass/lifetime.ts';
import { hrefOf } from '../router.ts';
import { AccountGrants } from './account-grants.tsx';
import { type Approval, accessOf, decide, decisionsFor, getApproval, isOpen, isOwnOf, phaseOf } from './approvals.ts';
import { DecisionForm } from './decision-form.tsx';

interface ApprovalCardProps {
  readonly approval: Approval;
  /** Gets what was decided, as a sentence. */
  readonly onDecided: (outcome: string) => void;
}

const NEEDS: Readonly<Record<string, string>> = {
  confirm: 'Waits for the requester, who confirms it here.',
  review: 'Waits for another person, who may approve passes in this cluster.',
};

/** Who asks for what and why, and what an approval would do. Here people decide. */
export function ApprovalCard({ approval, onDecided }: ApprovalCardProps) {
  const { client, username } = useSession();
  const id = useId();
  const { resource, metadata, spec, status = {} } = approval;
  const phase = phaseOf(approval);
  const isOwn = isOwnOf(username, approval);
  const { namespace = '', name = '' } = spec.serviceAccount ?? {};
  const { generation } = useRefresh();
  const isPending = phase === 'Pending';
  const query = useQuery(
    `${metadata.uid} ${phase}`,
    async () => (isPending ? (await getApproval(client, resource, metadata.name)).status?.preview : undefined),
    generation,
  );
  const preview = query.status === 'loaded' ? query.value : undefined;
  const access = visibleName(accessOf(approval));
  return (
    <article className="card section" aria-labelledby={id}>
      <header className="section-head">
        <h2 id={id} className="wrap-anywhere">
          {isOwn ? 'You ask' : `${visibleName(spec.requestedBy?.username ?? '')} asks`} for {access}
        </h2>
        <span className={`state state-${phase.toLowerCase()}`}>{phase}</span>
      </header>
      {resource === 'accessrequests' && <p className="wrap-anywhere">{visibleName(spec.reason ?? '')}</p>}
      <DetailList details={detailsOf({ ...approval, status: { ...status, ...(preview && { preview }) } })} />
      <p className="muted">
        Asked <Age at={metadata.creationTimestamp ?? ''} />, for {formatDuration(spec.durationSeconds ?? 3_600)}
        {status.decidedBy !== undefined && `, decided by ${visibleName(status.decidedBy.username)}`}
        {isOpen(approval) && status.expirationTimestamp !== undefined && (
          <>
            , {isPending ? 'given up' : 'ends'} <Remaining at={status.expirationTimestamp} />
          </>
        )}
        . {isPending && NEEDS[status.approval ?? '']}
      </p>
      {(status.conditions ?? []).map(({ type = '', message: text = '' }) =>
        text === '' ? null : (
          <p key={type} className="muted wrap-anywhere">
            {type}: {visibleName(text)}
          </p>
        ),
      )}
      {isOwn && isOpen(approval) && status.next !== undefined && (
        <>
          <p>
            Next, in a terminal, or at{' '}
            <a href={hrefOf({ page: 'cluster', name: spec.cluster ?? '' })}>{spec.cluster}</a>:
          </p>
          <CodeBlock text={status.next} label="the command" />
        </>
      )}
      {resource === 'passes' && isPending && (
        <AccountGrants cluster={spec.cluster ?? ''} account={{ namespace, name }} />
      )}
      {query.status !== 'loading' && (
        <DecisionForm
          decisions={decisionsFor(approval, isOwn, preview)}
          decide={async (type, message) => {
            await decide(client, approval, type, message);
            onDecided(`${type}: ${access}.`);
          }}
        />
      )}
    </article>
  );
}

/** The texts are those of others. What the client calls itself is not verified. */
function detailsOf({ resource, metadata: { name }, spec, status = {} }: Approval): Details {
  const { requestedBy, client, purpose = '', audiences } = spec;
  const isPass = resource === 'passes';
  const ofPass = [
    ['Requester', requestedBy?.username ?? ''],
    ['Client', client?.id ?? 'none: a person asks'],
    ['Calls itself', client?.name],
    ['Purpose', purpose],
    ['Audiences', audiences?.join(', ') ?? 'the API of the cluster'],
    ['Tokens issued', String(status.tokens?.length ?? 0)],
  ] as const;
  const details = [...(isPass ? ofPass : []), ...previewRows(spec, status)].flatMap(([title, text]) =>
    text === undefined ? [] : [[title, visibleName(text)] as const],
  );
  const href = hrefOf({ page: isPass ? 'pass' : 'request', name });
  return { ...Object.fromEntries(details), [isPass ? 'Handle' : 'Request']: <a href={href}>{name}</a> };
}
