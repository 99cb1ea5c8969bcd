import type { TallyRow } from '../../observability/metrics/request-tally.ts';
import type { AuditedLine } from '../records/audit-event.ts';
import type { ResourceRoute } from '../routes/routes.ts';

/**
 * What was found out about a request line on the way, and is the same whoever sends it: kept with what is remembered
 * of the line (`createTargetParser`), so that it is found out once. Each is written by the one who found it.
 */
export class LineNotes {
  route: ResourceRoute | undefined = undefined;
  audited: AuditedLine | undefined = undefined;
  row: TallyRow | undefined = undefined;
}
