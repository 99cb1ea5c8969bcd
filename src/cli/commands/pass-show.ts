import { exactDuration } from '../../api/codec/go-text/human-duration.ts';
import { expiryOf } from '../../api/kinds/approval.ts';
import { passSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import { PASSES } from '../approvable.ts';
import type { Run } from '../command.ts';
import { bindingRow, conditionRows, person, type Row, showApprovable } from '../show-approvable.ts';

export const run: Run = showApprovable(PASSES, (pass) => {
  const spec = passSpec(pass);
  const {
    cluster,
    serviceAccount = {},
    audiences,
    durationSeconds,
    purpose,
    codeChallenge,
    requestedBy,
    client,
  } = spec;
  const status = passStatus(pass);
  return [
    ['Handle:', pass.metadata.name],
    ['Requester:', person(requestedBy)],
    ['Client:', client?.id],
    // Not verified, so it is apart from the id.
    ['Calls itself:', client?.name],
    ['Cluster:', cluster],
    ['Account:', `${serviceAccount.namespace}/${serviceAccount.name}`],
    ['Audiences:', audiences?.join(', ')],
    ['Purpose:', purpose],
    ['Duration:', exactDuration(durationSeconds ?? 0)],
    ['Redeemable:', codeChallenge === undefined ? undefined : 'only on the machine that requested it'],
    ['Phase:', status.phase],
    ['Approval:', status.approval],
    ['Expires:', expiryOf(pass)],
    ['Decided by:', person(status.decidedBy)],
    bindingRow(status),
    ...(status.tokens ?? []).map(
      ({ id = 'without an id', expirationTimestamp }): Row => ['Token:', `${id}, until ${expirationTimestamp}`],
    ),
    ...conditionRows(status),
  ];
});
