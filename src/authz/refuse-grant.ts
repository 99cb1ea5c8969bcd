import type { Caller } from '../api/caller.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { RBAC_GROUP } from '../api/kinds/rbac.ts';
import type { ApiError } from '../api/status.ts';
import { type GrantPolicy, refuseBinding, refuseRole } from './escalation.ts';

/** The escalation check for whatever is about to be written: only rules and bindings can give rights away. */
export function refuseGrant(
  policy: GrantPolicy,
  caller: Caller,
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
): ApiError | undefined {
  if (kind.group !== RBAC_GROUP) return undefined;
  switch (kind.resource) {
    case 'roles':
    case 'clusterroles':
      return refuseRole({ policy, caller, resource: kind.resource, object, old });
    case 'rolebindings':
    case 'clusterrolebindings':
      return refuseBinding({ policy, caller, resource: kind.resource, object, old });
    default:
      return undefined;
  }
}
