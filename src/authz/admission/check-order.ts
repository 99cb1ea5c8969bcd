import { type FieldError, forbiddenField, invalid, required } from '../../api/field-error.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { orderSpec, orderStatus, tokenOrderKind } from '../../api/kinds/token-order.ts';
import { conflict } from '../../api/status.ts';

/**
 * What a connector writes to an order: once who does it, and then once its answer, while the order can be answered. So
 * an order is done at most once, with any number of connectors.
 *
 * @throws ApiError 409 for an order that has ended, by the clock of this server, and 422
 */
export function checkOrder(kind: Kind, object: ApiObject, old: ApiObject | undefined, now: number): void {
  if (kind !== tokenOrderKind || old === undefined) return;
  const name = object.metadata.name ?? '';
  const before = orderStatus(old);
  const after = orderStatus(object);
  const errors: FieldError[] = [];
  for (const field of ['phase', 'expirationTimestamp'] as const) {
    if (before[field] !== after[field]) errors.push(forbiddenField(`status.${field}`, 'is set by the server'));
  }
  for (const field of ['claimedBy', 'claimTime', 'answer'] as const) {
    if (before[field] === after[field] || before[field] === undefined) continue;
    errors.push(forbiddenField(`status.${field}`, 'was set already'));
  }
  if (after.answer !== undefined && before.claimedBy === undefined) {
    errors.push(required('status.claimedBy', 'an order is claimed before it is answered'));
  }
  if (errors.length > 0) throw invalid(kind, name, errors);
  const endsAt = Date.parse(orderSpec(old).expirationTimestamp ?? '');
  if (before.phase !== undefined || !(endsAt > now)) throw conflict(kind, name, 'it has ended');
}
