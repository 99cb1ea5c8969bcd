import type { Kind } from '../../api/kind.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import type { ApiError } from '../../api/status.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { type GetParts, getObject } from '../get.ts';
import { isOwn } from './own-tokens.ts';

export interface OwnerParts extends GetParts {
  /** What the rules alone say to a request; undefined when one allows it. */
  readonly refusalOf: (request: ApiRequest) => ApiError | undefined;
}

export async function getIssuedToken(parts: OwnerParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  if (parts.refusalOf(request) !== undefined) await findForCaller(parts, request, kind);
  return getObject(parts, request, kind);
}

/**
 * The record that a request names, if there is one. Without a rule only one's own can be named: the refusal is the
 * same for a token of somebody else and for one that does not exist (decision 12).
 */
export async function findForCaller(
  { reader, views, refusalOf }: OwnerParts,
  request: ApiRequest,
  kind: Kind,
): Promise<StoredObject | undefined> {
  await reader.catchUp();
  const found = reader.find(kind, { cluster: '', namespace: '', name: request.target.name });
  const entry = found?.isExpired(views.now()) === true ? undefined : found;
  const refusal = refusalOf(request);
  if (refusal !== undefined && (entry === undefined || !isOwn(entry, request.caller))) throw refusal;
  return entry;
}
