import { invalid, invalidValue } from '../../api/field-error.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { bindingSpec } from '../../api/kinds/fleet-role-binding-spec.ts';

/**
 * A binding that is created after its end would never grant anything: the year is wrong, or the file is old. An update
 * may end a binding at once.
 *
 * @throws ApiError 422
 */
export function checkExpiry(kind: Kind, object: ApiObject, old: ApiObject | undefined, now: number): void {
  if (object.kind !== 'FleetRoleBinding' || old !== undefined) return;
  const { expiresAt } = bindingSpec(object);
  if (expiresAt === undefined || Date.parse(expiresAt) > now) return;
  const why = 'is in the past: the binding would never grant anything';
  throw invalid(kind, object.metadata.name ?? '', [invalidValue('spec.expiresAt', expiresAt, why)]);
}
