import type { AuditEventSummary } from '../../../src/api/kinds/audit-event-review.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { Time } from '../components/time.tsx';
import { linkTo } from '../router.ts';
import { actionOf, keyOf, passesOf, resultOf } from './event-feed.ts';

/** Links of a row filter the page by their value. */
export const EventTable = ({ events }: { events: readonly AuditEventSummary[] }) => (
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
        <Row key={keyOf(event)} event={event} />
      ))}
    </tbody>
  </table>
);

function Row({ event }: { event: AuditEventSummary }) {
  const { user = '', impersonatedUser = '', cluster = '', code = 0, decision = '' } = event;
  return (
    <tr>
      <td data-label="Time">
        <Time at={event.time ?? ''} />
      </td>
      <th scope="row" data-label="User" className="event-user wrap-anywhere">
        {user === '' ? <span className="muted">unknown</span> : <FilterLink field="user" value={user} />}
        {impersonatedUser !== '' && <span className="muted hint"> as {visibleName(impersonatedUser)}</span>}
      </th>
      <td data-label="Action" className="event-action wrap-anywhere">
        {actionOf(event)}
        <span className="muted hint event-why">{decision || event.sourceIP}</span>
      </td>
      <td data-label="Cluster" className="list-cluster wrap-anywhere">
        {cluster === '' ? '' : <FilterLink field="cluster" value={cluster} />}
      </td>
      <td data-label="Result" className="no-wrap">
        <span className={code >= 400 ? 'problem' : undefined}>{resultOf(event)}</span>
      </td>
      <td data-label="Pass" className="mono">
        {passesOf(event).map(({ use, id }) => (
          <span key={use} className="event-pass">
            <span className="muted">{use}</span>{' '}
            <a href={linkTo('audit', { pass: id })} title={id}>
              {id.slice(0, 8)}
            </a>
          </span>
        ))}
      </td>
    </tr>
  );
}

const FilterLink = ({ field, value }: { field: 'user' | 'cluster'; value: string }) => (
  <a href={linkTo('audit', { [field]: value })}>{visibleName(value)}</a>
);
