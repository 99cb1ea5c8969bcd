import { exactDuration } from '../../api/codec/go-text/human-duration.ts';
import { accessText, requestSpec, requestStatus } from '../../api/kinds/access-request-spec.ts';
import { expiryOf } from '../../api/kinds/approval.ts';
import { REQUESTS } from '../approvable.ts';
import type { Run } from '../command.ts';
import { bindingRow, conditionRows, person, showApprovable } from '../show-approvable.ts';

export const run: Run = showApprovable(REQUESTS, (request) => {
  const spec = requestSpec(request);
  const status = requestStatus(request);
  return [
    ['Name:', request.metadata.name],
    ['UID:', request.metadata.uid],
    ['Requester:', person(spec.requestedBy)],
    ['Cluster:', spec.cluster],
    ['Access:', accessText(spec)],
    ['Reason:', spec.reason],
    ['Duration:', exactDuration(spec.durationSeconds ?? 0)],
    ['Phase:', status.phase],
    ['Expires:', expiryOf(request)],
    ['Decided by:', person(status.decidedBy)],
    ['Withdrawn by:', person(status.withdrawnBy)],
    bindingRow(status),
    ...conditionRows(status),
  ];
});
