import type { AuditEventSummary } from '../../../src/api/kinds/audit-event-review.ts';
import { Time } from '../components/time.tsx';
import { visibleName } from '../components/visible-name.ts';
import { linkTo } from '../router.ts';
import { actionOf } from './event-feed.ts';

interface EventTableProps {
  readonly events: readonly AuditEventSummary[];
  /** The fields of the page that a link changes: none below a cluster. */
  readonly hasLinks: boolean;
}

export const EventTable = ({ events, hasLinks }: EventTableProps) => (
  <table className="list events">
    <thead>
      <tr>
        <th scope="col">Time</th>
        <th scope="col">User</th>
        <th scope="col">Action</th>
        <th scope="col">Cluster</th>
        <th scope="col">Result</th>
        <th scope="col">Pass</th>
      </tr>
    </thead>
    <tbody>
      {events.map((event) => (
        <Row key={`${event.auditID} ${event.stage}`} event={event} hasLinks={hasLinks} />
      ))}
    </tbody>
  </table>
);

function Row({ event, hasLinks }: { event: AuditEventSummary; hasLinks: boolean }) {
  const { user = '', impersonatedUser = '', cluster = '', code = 0, reason = '', decision = '' } = event;
  const link = (field: string, value: string) =>
    hasLinks ? <a href={linkTo('audit', { [field]: value })}>{visibleName(value)}</a> : visibleName(value);
  return (
    <tr>
      <td data-label="Time">
        <Time at={event.time ?? ''} />
      </td>
      <th scope="row" data-label="User" className="wrap-anywhere">
        {user === '' ? <span className="muted">unknown</span> : link('user', user)}
        {impersonatedUser !== '' && <span className="muted hint"> as {visibleName(impersonatedUser)}</span>}
      </th>
      <td data-label="Action" className="wrap-anywhere">
        {actionOf(event)}
        {event.dryRun === true && <span className="muted"> (dry run)</span>}
        {event.stage === 'ResponseStarted' && <span className="muted"> (started)</span>}
        <span className="muted hint event-why">{decision || event.sourceIP}</span>
      </td>
      <td data-label="Cluster">{cluster === '' ? '' : link('cluster', cluster)}</td>
      <td data-label="Result">
        <span className={code >= 400 ? 'problem' : undefined}>{[code || '', reason].filter(Boolean).join(' ')}</span>
      </td>
      <td data-label="Pass" className="mono">
        <Passes event={event} hasLinks={hasLinks} />
      </td>
    </tr>
  );
}

function Passes({ event, hasLinks }: { event: AuditEventSummary; hasLinks: boolean }) {
  const passes: readonly (readonly [string, string | undefined])[] = [
    ['issued', event.issuedCredentialID],
    ['revoked', event.revokedCredentialID],
    ['used', event.credentialID],
  ];
  return passes.map(([what, id]) =>
    id === undefined ? null : (
      <span key={what} className="event-pass">
        <span className="muted">{what}</span>{' '}
        {hasLinks ? (
          <a href={linkTo('audit', { pass: id })} title={id}>
            {id.slice(0, 8)}
          </a>
        ) : (
          <span title={id}>{id.slice(0, 8)}</span>
        )}
      </span>
    ),
  );
}
