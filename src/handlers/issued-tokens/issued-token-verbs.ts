import { credentialIdOf, REVOKED_CREDENTIAL_ID } from '../../api/caller.ts';
import type { Kind } from '../../api/kind.ts';
import { REQUESTER_LABEL, tokenIdErrors } from '../../api/kinds/issued-token.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { type ApiError, notFound, requireValid } from '../../api/status.ts';
import { checkPreconditions, hasPreconditions } from '../../objects/preconditions.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { Revocations } from '../../tokens/revocations/revocations.ts';
import type { VerbOverrides } from '../dispatch.ts';
import { findForCaller, getObject, type OwnedParts } from '../get.ts';
import { parseDeleteOptions } from '../options/delete-options.ts';
import { isOwn, requesterOf } from '../requester.ts';
import { deleteResponse } from '../write/delete.ts';

interface IssuedTokenParts extends OwnedParts {
  readonly kind: Kind;
  readonly revocations: Revocations;
}

/** `get` and `delete` of issued tokens check who requested the token. `list` and `watch` are those of every kind. */
export function issuedTokenVerbs(parts: IssuedTokenParts): VerbOverrides {
  const get = (request: ApiRequest) => getIssuedToken(parts, request);
  return new Map([[parts.kind, { get, delete: (request: ApiRequest) => revokeToken(parts, request) }]]);
}

async function getIssuedToken(parts: IssuedTokenParts, request: ApiRequest): Promise<ApiResponse> {
  if (parts.refusalOf(request) !== undefined) await findOwn(parts, request);
  return getObject(parts, request, parts.kind);
}

/** Without a rule callers can name only their own tokens. */
function findOwn(parts: IssuedTokenParts, request: ApiRequest): Promise<StoredObject | undefined> {
  const refusalOf = (asked: ApiRequest): ApiError | undefined => refusalFor(parts, asked);
  const mayName = (found: StoredObject): boolean => isOwn(found, request.caller);
  return findForCaller({ ...parts, refusalOf }, request, parts.kind, mayName);
}

/** A 404 says that the caller's own token is revoked: the deletion can be repeated after a lost answer. */
function refusalFor({ kind, revocations, refusalOf }: IssuedTokenParts, request: ApiRequest): ApiError | undefined {
  const refusal = refusalOf(request);
  const { caller, target } = request;
  const isRevokedOwn = revocations.requesterLabelOf(target.name) === requesterOf(caller);
  return refusal !== undefined && isRevokedOwn ? notFound(kind, target.name) : refusal;
}

/**
 * Deleting an issued token revokes it. A caller with a rule that allows it may also revoke a token without a record:
 * most tokens are not tracked, and an id can come from a log.
 */
async function revokeToken(parts: IssuedTokenParts, request: ApiRequest): Promise<ApiResponse> {
  const { kind } = parts;
  const { dryRun, preconditions } = parseDeleteOptions(request);
  const { name: jti } = request.target;
  const entry = await findOwn(parts, request);
  requireValid(kind, jti, tokenIdErrors(jti));
  if (entry !== undefined) checkPreconditions(kind, entry.object(), preconditions);
  // A token without a record has no uid and no version that could match.
  else if (hasPreconditions(preconditions)) throw notFound(kind, jti);
  if (!dryRun) {
    const requester = entry?.labels?.[REQUESTER_LABEL];
    const quota = parts.revocations.quotaFor(request.caller);
    await parts.revocations.revoke(jti, request.caller.as(undefined), entry?.expiresAt, requester, quota);
    request.annotate(REVOKED_CREDENTIAL_ID, credentialIdOf(jti));
  }
  return deleteResponse(kind, jti, entry?.uid);
}
