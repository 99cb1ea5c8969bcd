import type { RequestedAccess } from '../../api/kinds/access-request-spec.ts';
import { approvalSpec, approvalStatus } from '../../api/kinds/approval.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { ApiError, notFound } from '../../api/status.ts';
import { defined } from '../../lib/json.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { findForCaller } from '../find-for-caller.ts';
import { isOwn } from '../requester.ts';
import { writeResponse } from '../write/write-parts.ts';
import type { Approvable, ApprovalParts } from './approvable.ts';
import { accountState, checkDecider, findDecidable } from './decide.ts';

/** `get` of the subresource `approval`: callers who see the object learn what their approval would do. */
export async function getWithPreview(parts: ApprovalParts, row: Approvable, request: ApiRequest): Promise<ApiResponse> {
  const { kind } = row;
  const rule = parts.views.rule(kind, request.caller, 'list');
  const entry = await findForCaller(parts, request, kind, ({ name, labels }) => rule?.admits(name, labels) === true);
  if (entry === undefined) throw notFound(kind, request.target.name);
  const object = entry.object();
  const status = { ...approvalStatus(object), ...defined({ preview: await previewOf(parts, row, request, entry) }) };
  return writeResponse(parts, request, kind, { ...object, status }, { code: 200 });
}

/** Undefined where no approval waits, and for those who ask another person for it. */
async function previewOf(parts: ApprovalParts, row: Approvable, request: ApiRequest, entry: StoredObject) {
  const object = entry.object();
  const decider = row.deciderOf(object);
  if (decider === undefined || entry.field('status.phase') !== 'Pending') return undefined;
  if (decider === 'another person' && isOwn(entry, request.caller)) return undefined;
  try {
    checkDecider(parts, row, request.caller, await findDecidable(parts, row, request));
    parts.requireRightClock();
    const until = parts.now() + (approvalSpec(object).durationSeconds ?? 0) * 1000;
    row.grant({ request, entry, object, until });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { allowed: false, message: error.status.message };
  }
  // Who may grant it may learn who has it, and whether the account exists.
  const { cluster, requestedBy } = approvalSpec(object);
  const isHeld = ({ namespace, rule }: RequestedAccess): boolean => {
    const { apiGroups: [group = ''] = [], resources: [type = ''] = [], resourceNames: [name = ''] = [] } = rule;
    const [resource = '', subresource = ''] = type.split('/');
    const asked = { group, resource, subresource, namespace, name, cluster };
    return rule.verbs?.every((verb) => parts.holds(requestedBy, { ...asked, verb })) === true;
  };
  const byHeld = Map.groupBy(row.accessOf(object), isHeld);
  const [has, gains] = [true, false].map((held) => byHeld.get(held)?.map(({ text }) => text));
  return { allowed: true, ...defined({ has, gains, serviceAccount: accountState(parts, object) }) };
}
