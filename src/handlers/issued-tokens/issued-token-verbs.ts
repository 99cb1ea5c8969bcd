import { credentialIdOf, REVOKED_CREDENTIAL_ID } from '../../api/credential-id.ts';
import { invalid } from '../../api/field-error.ts';
import type { Kind } from '../../api/kind.ts';
import { tokenIdErrors } from '../../api/kinds/issued-token.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { ApiError, notFound } from '../../api/status.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { checkPreconditions, type ObjectWriter } from '../../objects/writer.ts';
import type { Revocations } from '../../tokens/revocations/revocations.ts';
import type { VerbOverrides } from '../dispatch.ts';
import { type GetParts, getObject } from '../get.ts';
import { parseDeleteOptions } from '../options/delete-options.ts';
import { isOwn } from '../requester.ts';
import { deleteResponse } from '../write/delete.ts';

interface IssuedTokenParts extends GetParts {
  readonly kind: Kind;
  readonly writer: Pick<ObjectWriter, 'remove'>;
  readonly revocations: Revocations;
  /** The refusal of the policy; undefined when a rule allows the request. */
  readonly refusalOf: (request: ApiRequest) => ApiError | undefined;
}

/** `get` and `delete` of issued tokens check who requested the token. `list` and `watch` are those of every kind. */
export const issuedTokenVerbs = (parts: IssuedTokenParts): VerbOverrides =>
  new Map([
    [
      parts.kind,
      {
        get: (request: ApiRequest) => getIssuedToken(parts, request),
        delete: (request: ApiRequest) => revokeToken(parts, request),
      },
    ],
  ]);

async function getIssuedToken(parts: IssuedTokenParts, request: ApiRequest): Promise<ApiResponse> {
  if (parts.refusalOf(request) !== undefined) await findForCaller(parts, request);
  return getObject(parts, request, parts.kind);
}

/**
 * The record that the request names, if there is one. Without a rule callers can name only their own tokens: the
 * refusal is the same for a token of another caller and for one that does not exist (decision 12).
 */
async function findForCaller(
  { kind, reader, views, refusalOf }: IssuedTokenParts,
  request: ApiRequest,
): Promise<StoredObject | undefined> {
  await reader.catchUp();
  const found = reader.find(kind, { cluster: '', namespace: '', name: request.target.name });
  const entry = found?.isExpired(views.now()) === true ? undefined : found;
  const refusal = refusalOf(request);
  if (refusal !== undefined && (entry === undefined || !isOwn(entry, request.caller))) throw refusal;
  return entry;
}

/**
 * Deleting an issued token revokes it. A caller with a rule that allows it may also revoke a token without a record:
 * most tokens are not tracked, and an id can come from a log. The revocation is stored before the record is deleted, so
 * a crash in between leaves a token that is listed, not one that is accepted.
 */
async function revokeToken(parts: IssuedTokenParts, request: ApiRequest): Promise<ApiResponse> {
  const { kind } = parts;
  const { dryRun, preconditions } = parseDeleteOptions(request);
  const { name: jti } = request.target;
  const entry = await findForCaller(parts, request);
  const errors = tokenIdErrors(jti);
  if (errors.length > 0) throw invalid(kind, jti, errors);
  if (entry !== undefined) checkPreconditions(kind, entry.object(), preconditions);
  // A token without a record has no uid and no version that could match.
  else if (Object.keys(preconditions ?? {}).length > 0) throw notFound(kind, jti);
  if (!dryRun) {
    await parts.revocations.revoke(jti, request.caller.as(undefined), entry?.expiresAt);
    request.annotate(REVOKED_CREDENTIAL_ID, credentialIdOf(jti));
    if (entry !== undefined) await removeRecord(parts, jti);
  }
  return deleteResponse(kind, jti, entry?.uid);
}

async function removeRecord({ kind, writer }: IssuedTokenParts, jti: string): Promise<void> {
  try {
    await writer.remove(kind, { cluster: '', namespace: '', name: jti }, { dryRun: false });
  } catch (error) {
    // Another request or the sweep has deleted it.
    if (!(error instanceof ApiError && error.status.code === 404)) throw error;
  }
}
