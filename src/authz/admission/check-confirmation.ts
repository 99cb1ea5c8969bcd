import { type Authorizer, clusterQuestion } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { CONFIRM_VERB, CONFIRMED_ANNOTATION } from '../../api/clusters/confirmed-endpoint.ts';
import { TOKEN_CHECKS_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { isClusters } from '../../api/kinds/cluster-spec.ts';
import { requirePermission } from '../forbidden.ts';

/**
 * What an administrator has checked, and others rely on. A caller who may change the address of a cluster could confirm
 * its own server and receive the credential. And one who may change its annotations could say that it refuses revoked
 * tokens: the owner of a stolen one would be told that it is refused.
 */
const STATEMENTS = [CONFIRMED_ANNOTATION, TOKEN_CHECKS_ANNOTATION];

/**
 * Statements about a cluster take a separate permission.
 *
 * @throws ApiError 403
 */
export function checkConfirmation(
  authorizer: Authorizer,
  caller: Caller,
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
): void {
  if (!isClusters(kind)) return;
  const isMade = (key: string): boolean => {
    const value = object.metadata.annotations?.[key];
    // Nothing follows from a statement that is removed: permission to update the cluster is enough.
    return value !== undefined && value !== old?.metadata.annotations?.[key];
  };
  if (!STATEMENTS.some(isMade)) return;
  requirePermission(authorizer, caller, clusterQuestion(CONFIRM_VERB, object.metadata.name ?? ''));
}
