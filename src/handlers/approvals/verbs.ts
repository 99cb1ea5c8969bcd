import { credentialIdOf, REVOKED_CREDENTIAL_IDS } from '../../api/credential-id.ts';
import { fleetKey } from '../../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { ignoreNotFound, notFound } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { checkPreconditions } from '../../objects/preconditions.ts';
import type { VerbOverrides } from '../dispatch.ts';
import { findForCaller, getListed } from '../find-for-caller.ts';
import { parseDeleteOptions } from '../options/delete-options.ts';
import { isOwn } from '../requester.ts';
import { deleteResponse } from '../write/delete.ts';
import { type Approvable, type ApprovalParts, withEnd } from './approvable.ts';
import { getWithPreview } from './preview.ts';

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
