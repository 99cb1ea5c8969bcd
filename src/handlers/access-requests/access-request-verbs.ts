import type { Kind } from '../../api/kind.ts';
import { isOpenPhase, requestStatus } from '../../api/kinds/access-request-spec.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { type ApiError, notFound } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { checkPreconditions } from '../../objects/writer.ts';
import type { VerbOverrides } from '../dispatch.ts';
import { type GetParts, getObject } from '../get.ts';
import { isOwn } from '../issued-tokens/own-tokens.ts';
import { parseDeleteOptions } from '../options/delete-options.ts';
import { deleteResponse } from '../write/delete.ts';
import { annotate } from './complete-request.ts';
import { ownerOf, withDecision } from './decide-request.ts';
import { userOf } from './people.ts';
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

export interface OwnedParts extends GetParts {
  /** The refusal of the policy for a request about all objects; undefined when a rule allows it. */
  readonly refusalOf: (request: ApiRequest) => ApiError | undefined;
}

/** `get` of a kind that callers list without a rule: they get what they list. */
export async function getListed(parts: OwnedParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  const isListed = (entry: StoredObject): boolean =>
    parts.views.rule(kind, request.caller, 'list')?.admits(entry.name, entry.labels) === true;
  await findForCaller(parts, request, kind, isListed);
  return getObject(parts, request, kind);
}

/** The refusal is the same for an object that the caller may not name and for one that does not exist (decision 12). */
export async function findForCaller(
  { reader, refusalOf }: OwnedParts,
  request: ApiRequest,
  kind: Kind,
  mayName: (entry: StoredObject) => boolean,
): Promise<StoredObject | undefined> {
  await reader.catchUp();
  const entry = reader.find(kind, { cluster: '', namespace: '', name: request.target.name });
  const refusal = refusalOf(request);
  if (refusal !== undefined && (entry === undefined || !mayName(entry))) throw refusal;
  return entry;
}

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
  const key = { cluster: '', namespace: '', name: entry.name };
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
    { dryRun: false, part: 'status', preconditions: { uid: entry.uid } },
  );
  await grants.remove(ownerOf(withdrawn));
  await writer.remove(kind, key, { dryRun: false, preconditions: { uid: entry.uid } });
  annotate(request, withdrawn);
  return deleteResponse(kind, target.name, entry.uid);
}
