import type { AuditEventSummary } from '../../../src/api/kinds/audit-event-review.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { FirstRows } from '../components/first-rows.tsx';
import type { Column } from '../components/list-table.tsx';
import { Time } from '../components/time.tsx';
import { AuditLink } from './audit-link.tsx';
import { actionOf, keyOf, passesOf, resultOf } from './event-feed.ts';

const COLUMNS: readonly Column<AuditEventSummary>[] = [
  { title: 'Time', cell: ({ time = '' }) => <Time at={time} /> },
  {
    title: 'User',
    isHeader: true,
    className: 'event-user wrap-anywhere',
    cell: ({ user = '', impersonatedUser = '' }) => (
      <>
        {user === '' ? <span className="muted">unknown</span> : <AuditLink field="user" value={user} />}
        {impersonatedUser !== '' && <span className="muted hint"> as {visibleName(impersonatedUser)}</span>}
      </>
    ),
  },
  {
    title: 'Action',
    className: 'event-action wrap-anywhere',
    cell: (event) => (
      <>
        {actionOf(event)}
        <span className="muted hint event-why">{event.decision || event.sourceIP}</span>
      </>
    ),
  },
  {
    title: 'Cluster',
    className: 'list-cluster wrap-anywhere',
    cell: ({ cluster = '' }) => (cluster === '' ? '' : <AuditLink field="cluster" value={cluster} />),
  },
  {
    title: 'Result',
    className: 'no-wrap',
    cell: (event) => <span className={(event.code ?? 0) >= 400 ? 'problem' : undefined}>{resultOf(event)}</span>,
  },
  {
    title: 'Pass',
    className: 'mono',
    cell: (event) =>
      passesOf(event).map(({ use, id }) => (
        <span key={use} className="event-pass">
          <span className="muted">{use}</span> <AuditLink field="pass" value={id} text={id.slice(0, 8)} />
        </span>
      )),
  },
];

/** Links of a row filter the audit page by their value. */
export const EventTable = ({ events }: { events: readonly AuditEventSummary[] }) => (
  <FirstRows className="list events" columns={COLUMNS} rows={events} keyOf={keyOf} />
);
