import { isOpenPhase, requestStatus } from '../../api/kinds/access-request-spec.ts';
import { fleetKey } from '../../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { notFound } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { checkPreconditions } from '../../objects/preconditions.ts';
import { userOf } from '../approvals/people.ts';
import type { VerbOverrides } from '../dispatch.ts';
import { findForCaller, getListed } from '../find-for-caller.ts';
import { parseDeleteOptions } from '../options/delete-options.ts';
import { isOwn } from '../requester.ts';
import { deleteResponse } from '../write/delete.ts';
import { annotate } from './complete-request.ts';
import { grantOwner, withDecision } from './decide-request.ts';
import type { AccessRequestParts } from './request-parts.ts';

/** `get` and `delete` of access requests check whose they are. `list` and `watch` are those of every kind. */
export const accessRequestVerbs = (parts: AccessRequestParts): VerbOverrides =>
  new Map([
    [
      parts.catalog.accessRequests,
      {
        get: (request: ApiRequest) => getListed(parts, request, parts.catalog.accessRequests),
        delete: (request: ApiRequest) => deleteRequest(parts, request),
      },
    ],
  ]);

/**
 * An open request is withdrawn first, and its grant is removed before the request is: what grants access always has a
 * request that says why.
 */
async function deleteRequest(parts: AccessRequestParts, request: ApiRequest): Promise<ApiResponse> {
  const { catalog, writer, grants, now } = parts;
  const kind = catalog.accessRequests;
  const { caller, target } = request;
  const { dryRun, preconditions } = parseDeleteOptions(request);
  const entry = await findForCaller(parts, request, kind, (found) => isOwn(found, caller));
  if (entry === undefined) throw notFound(kind, target.name);
  const object = entry.object();
  checkPreconditions(kind, object, preconditions);
  if (dryRun) return deleteResponse(kind, target.name, entry.uid);
  const key = fleetKey(entry.name);
  const lastTransitionTime = toTimestamp(now());
  const withdrawn = await writer.update(
    kind,
    key,
    (current) => {
      const status = requestStatus(current);
      if (!isOpenPhase(status.phase ?? 'Pending')) return current;
      const condition = { type: 'Withdrawn', status: 'True', reason: 'Deleted', lastTransitionTime };
      const withdrawnBy = userOf(parts, caller, entry.field('spec.cluster'));
      return { ...current, status: { ...withDecision(status, condition), withdrawnBy } };
    },
    { dryRun: false, part: 'status', preconditions: { uid: entry.uid }, request },
  );
  await grants.remove(grantOwner(withdrawn));
  await writer.remove(kind, key, { dryRun: false, preconditions: { uid: entry.uid } });
  annotate(request, withdrawn);
  return deleteResponse(kind, target.name, entry.uid);
}
