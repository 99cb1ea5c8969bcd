import { invalid } from '../../api/field-error.ts';
import type { Kind } from '../../api/kind.ts';
import { tokenIdErrors } from '../../api/kinds/issued-token.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { ApiError, notFound } from '../../api/status.ts';
import { checkPreconditions, type ObjectWriter } from '../../objects/writer.ts';
import type { Revocations } from '../../tokens/revocations/revocations.ts';
import { parseDeleteOptions } from '../options/delete-options.ts';
import { deleted } from '../write/delete.ts';
import { findForCaller, type OwnerParts } from './get-issued-token.ts';

export interface RevokeParts extends OwnerParts {
  readonly writer: Pick<ObjectWriter, 'remove'>;
  readonly revocations: Revocations;
}

/**
 * Deleting an issued token revokes it. Whether there is a record of it makes no difference to those whom a rule
 * allows it: most tokens are not tracked, and whoever finds one in a log has its id. The revocation comes first and
 * the record goes after it, so that a crash in between leaves a token that is listed, not one that is accepted.
 */
export async function revokeToken(parts: RevokeParts, request: ApiRequest, kind: Kind): Promise<ApiResponse> {
  const { dryRun, preconditions } = parseDeleteOptions(request.query, request.body);
  const { name: jti } = request.target;
  const entry = await findForCaller(parts, request, kind);
  const errors = tokenIdErrors(jti);
  if (errors.length > 0) throw invalid(kind, jti, errors);
  if (entry !== undefined) checkPreconditions(kind, entry.object(), preconditions);
  // Whoever says which version they mean does not mean a token that nothing is known of.
  else if (Object.keys(preconditions ?? {}).length > 0) throw notFound(kind, jti);
  if (!dryRun) {
    await parts.revocations.revoke(jti, request.caller.as(undefined), entry?.expiresAt);
    request.annotate('clusterpass.dev/revoked-credential-id', `JTI=${jti}`);
    if (entry !== undefined) await removeRecord(parts, kind, jti);
  }
  return deleted(kind, jti, entry?.uid);
}

async function removeRecord({ writer }: RevokeParts, kind: Kind, jti: string): Promise<void> {
  try {
    await writer.remove(kind, { cluster: '', namespace: '', name: jti }, { dryRun: false });
  } catch (error) {
    // Somebody else was faster, or the sweep.
    if (!(error instanceof ApiError && error.status.code === 404)) throw error;
  }
}
