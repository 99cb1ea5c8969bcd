import type { Caller } from '../api/caller.ts';
import { REQUESTER_LABEL } from '../api/kinds/issued-token.ts';
import type { VisibilityRule } from '../api/visibility.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { requesterId } from '../tokens/revocations/tracked-tokens.ts';

/** The requester of an object is recorded under the name and uid that the caller has at the fleet. */
export const requesterOf = (caller: Caller): string => requesterId(caller.as(undefined));

export const isOwn = (entry: StoredObject, caller: Caller): boolean =>
  entry.labels?.[REQUESTER_LABEL] === requesterOf(caller);

/** The issued tokens, access requests or passes that the caller requested. */
export function requestedBy(caller: Caller): VisibilityRule {
  const value = requesterOf(caller);
  return {
    fingerprint: `${REQUESTER_LABEL}=${value}`,
    all: false,
    none: false,
    admits: (_, labels) => labels?.[REQUESTER_LABEL] === value,
    candidates: { names: [], labels: [{ key: REQUESTER_LABEL, value }] },
  };
}
