import { credentialIdOf, REVOKED_CREDENTIAL_IDS } from '../../api/caller.ts';
import { fleetKey } from '../../api/kind.ts';
import type { RequestedAccess } from '../../api/kinds/access-request-spec.ts';
import { approvalSpec, approvalStatus } from '../../api/kinds/approval.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { ApiError, ignoreNotFound, notFound } from '../../api/status.ts';
import { defined } from '../../lib/json.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { checkPreconditions } from '../../objects/preconditions.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { VerbOverrides } from '../dispatch.ts';
import { findForCaller, getListed } from '../get.ts';
import { parseDeleteOptions } from '../options/delete-options.ts';
import { isOwn } from '../requester.ts';
import { deleteResponse } from '../write/delete.ts';
import { writeResponse } from '../write/write-parts.ts';
import { type Approvable, type ApprovalParts, withEnd } from './approvable.ts';
import { accountState, checkDecider, findDecidable } from './decide.ts';

/** Verbs that check whose the objects are. `list` and `watch` are those of every kind. */
export const approvalVerbs = (parts: ApprovalParts, rows: readonly Approvable[]): VerbOverrides =>
  new Map(
    rows.map((row) => [
      row.kind,
      {
        ...(row.create === undefined ? {} : { create: row.create }),
        get: (request: ApiRequest) =>
          request.target.subresource === '' ? getListed(parts, request, row.kind) : getWithPreview(parts, row, request),
        delete: (request: ApiRequest) => deleteObject(parts, row, request),
      },
    ]),
  );

/**
 * The object ends first, so that nothing in flight can grant more, and is removed last: what grants access always has
 * an object that says why. After a crash in between the sweep ends what was granted.
 */
async function deleteObject(parts: ApprovalParts, row: Approvable, request: ApiRequest): Promise<ApiResponse> {
  const { writer, now } = parts;
  const { kind } = row;
  const { caller, target } = request;
  const { dryRun, preconditions } = parseDeleteOptions(request);
  const entry = await findForCaller(parts, request, kind, (found) => isOwn(found, caller));
  if (entry === undefined) throw notFound(kind, target.name);
  checkPreconditions(kind, entry.object(), preconditions);
  if (dryRun) return deleteResponse(kind, target.name, entry.uid);
  const key = fleetKey(entry.name);
  const uid = { uid: entry.uid };
  const condition = { ...row.deletion, status: 'True', lastTransitionTime: toTimestamp(now()) };
  const ended = await writer.update(kind, key, (current) => withEnd(current, condition), {
    dryRun: false,
    part: 'status',
    preconditions: uid,
    request,
  });
  const revoked = await row.revoke(ended, caller.as(undefined));
  // The sweep completes deletions, too, and may have been faster.
  await writer.remove(kind, key, { dryRun: false, preconditions: uid }).catch(ignoreNotFound);
  row.annotate(request, ended);
  if (revoked.length > 0) request.annotate(REVOKED_CREDENTIAL_IDS, revoked.map(credentialIdOf).join(','));
  row.warnAfterDeletion?.(request, ended, revoked);
  return deleteResponse(kind, target.name, entry.uid);
}

/** `get` of the subresource `approval`: callers who see the object learn what their approval would do. */
async function getWithPreview(parts: ApprovalParts, row: Approvable, request: ApiRequest): Promise<ApiResponse> {
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
