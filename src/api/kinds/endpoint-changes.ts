import { toTimestamp } from '../../lib/utc-second.ts';
import { type Conclusion, conclude, conditionOf, isProbeReason, withCondition } from '../clusters/conditions.ts';
import {
  CONFIRMED_ANNOTATION,
  CONFIRMED_FIELD,
  endpointDigest,
  endpointsInForce,
  sameEndpoints,
  writtenEndpoints,
} from '../clusters/confirmed-endpoint.ts';
import type { ApiObject } from '../kind.ts';
import { type FieldError, forbiddenField } from '../status.ts';
import { type ApiEndpoints, endpointsField, statusOf } from './cluster-spec.ts';

export interface EndpointChangeRules {
  readonly productName: string;
  /** `--confirm-endpoints`: a change of the endpoints waits until it is confirmed. */
  readonly hold: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const confirmedIn = (object: ApiObject): ApiEndpoints | undefined =>
  (object.spec as Record<string, ApiEndpoints> | undefined)?.[CONFIRMED_FIELD];

/** The endpoints that stay in force while those in the spec wait for confirmation; undefined if none wait. */
function endpointsHeld(object: ApiObject, old: ApiObject, rules: EndpointChangeRules): ApiEndpoints | undefined {
  const { hold, productName } = rules;
  const wanted = writtenEndpoints(object, productName);
  const present = endpointsInForce(old, productName);
  if (sameEndpoints(wanted, present)) return undefined;
  if (object.metadata.annotations?.[CONFIRMED_ANNOTATION] === endpointDigest(object, productName)) return undefined;
  // Without the option, a change that waited before goes on waiting until the endpoints are written again.
  const isUntouched = confirmedIn(old) !== undefined && sameEndpoints(wanted, writtenEndpoints(old, productName));
  return hold || isUntouched ? present : undefined;
}

/**
 * Derives from a write which endpoints are in force, and the condition that shows a waiting change. Resets a Ready
 * condition of the prober that is about other endpoints. Called for every write, so that no writer of the status can
 * remove the condition. A new cluster is confirmed by its registration.
 */
export function deriveEndpointFields(
  object: ApiObject,
  old: ApiObject | undefined,
  rules: EndpointChangeRules,
): ApiObject {
  if (old === undefined) return object;
  const { productName } = rules;
  const confirmed = endpointsHeld(object, old, rules);
  const next = withConfirmed(object, confirmedIn(old), confirmed);
  const now = toTimestamp(rules.now());
  const before = statusOf(object);
  let status = before;
  if (confirmed !== undefined) {
    status = withCondition(status, 'EndpointsConfirmed', changeWaits(object, confirmed, productName), now);
  } else if (conditionOf(status, 'EndpointsConfirmed') !== undefined) {
    status = withCondition(status, 'EndpointsConfirmed', CONFIRMED, now);
  }
  const hasMoved = !sameEndpoints(
    endpointsInForce(old, productName),
    confirmed ?? writtenEndpoints(object, productName),
  );
  if (hasMoved && isProbeReason(conditionOf(status, 'Ready')?.reason)) {
    status = withCondition(status, 'Ready', NOT_PROBED, now);
  }
  return status === before ? next : { ...next, status };
}

/** A value that a caller invented is left in the object: `validateConfirmed` refuses it. */
function withConfirmed(object: ApiObject, before: ApiEndpoints | undefined, next: ApiEndpoints | undefined): ApiObject {
  const { [CONFIRMED_FIELD]: sent, ...rest } = (object.spec ?? {}) as Record<string, unknown>;
  const isForeign = sent !== undefined && (before === undefined || !sameEndpoints(sent as ApiEndpoints, before));
  if (isForeign || (sent === undefined && next === undefined)) return object;
  return { ...object, spec: next === undefined ? rest : { ...rest, [CONFIRMED_FIELD]: next } };
}

/** The field is the server's: a caller could otherwise choose what every client connects to. */
export function validateConfirmed(
  object: ApiObject,
  old: ApiObject | undefined,
  rules: EndpointChangeRules,
): FieldError[] {
  const sent = confirmedIn(object);
  if (sent === undefined) return [];
  const expected = old === undefined ? undefined : endpointsHeld(object, old, rules);
  if (expected !== undefined && sameEndpoints(sent, expected)) return [];
  const how = `the server sets it; write the endpoints to spec.${endpointsField(rules.productName)}, and confirm a change with: clusterpass confirm ${object.metadata.name}`;
  return [forbiddenField(`spec.${CONFIRMED_FIELD}`, how)];
}

const CONFIRMED = conclude(
  'EndpointsConfirmed',
  'Confirmed',
  'The endpoints in the spec of this cluster are confirmed.',
);

function changeWaits(object: ApiObject, confirmed: ApiEndpoints, productName: string): Conclusion {
  const wanted = writtenEndpoints(object, productName);
  const isOtherCa = (wanted.caBundle ?? '') !== (confirmed.caBundle ?? '');
  const isOtherAddress = !sameEndpoints({ ...wanted, caBundle: '' }, { ...confirmed, caBundle: '' });
  const what =
    isOtherCa && isOtherAddress ? 'The address and the caBundle' : isOtherCa ? 'The caBundle' : 'The address';
  return conclude(
    'EndpointsConfirmed',
    'ChangeWaits',
    `${what} in the spec of this cluster changed, and the change waits for confirmation: clients get the confirmed ` +
      `endpoints. Check it, then run: clusterpass confirm ${object.metadata.name}`,
  );
}

const NOT_PROBED = conclude(
  'Ready',
  'ProbePending',
  'The address or the caBundle of the cluster has changed, and no probe of it has finished yet.',
);
