import { type FieldError, invalid, invalidValue } from '../../api/field-error.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { EXPIRES_ANNOTATION, parseExpiry, RBAC_GROUP } from '../../api/kinds/rbac.ts';

/**
 * A binding that is created after its end would never grant anything: the year is wrong, or the file is old. An update
 * may end a binding at once.
 *
 * @throws ApiError 422
 */
export function checkExpiry(kind: Kind, { metadata }: ApiObject, old: ApiObject | undefined, now: number): void {
  if (kind.group !== RBAC_GROUP || old !== undefined) return;
  const text = metadata.annotations?.[EXPIRES_ANNOTATION];
  const end = parseExpiry(text);
  if (end === undefined || end > now) return;
  const why = 'is in the past: the binding would never grant anything';
  const error: FieldError = invalidValue(`metadata.annotations[${EXPIRES_ANNOTATION}]`, text, why);
  throw invalid(kind, metadata.name ?? '', [error]);
}
