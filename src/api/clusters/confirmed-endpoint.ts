import { createHash, hash } from 'node:crypto';
import { CLUSTER_ID_ANNOTATION } from '../domain-keys.ts';
import type { ApiObject } from '../kind.ts';
import { type ApiEndpoints, controllerOf, endpointsField } from '../kinds/cluster-spec.ts';

/** Set by an administrator who has checked the endpoints to which the credential of a cluster would be sent. */
export const CONFIRMED_ANNOTATION = 'clusterpass.dev/confirmed-endpoint';

/**
 * The verb on the cluster that setting the annotation requires, and TOKEN_CHECKS_ANNOTATION. Permission to update the
 * cluster is not enough.
 */
export const CONFIRM_VERB = 'confirm';

/** In the spec of a cluster whose endpoints were changed and not confirmed: the confirmed endpoints. */
export const CONFIRMED_FIELD = 'confirmedEndpoints';

/** The endpoints as they were written last: perhaps not confirmed. */
export const writtenEndpoints = (object: ApiObject, productName: string): ApiEndpoints =>
  ((object.spec as Record<string, unknown> | undefined)?.[endpointsField(productName)] ?? {}) as ApiEndpoints;

/** The endpoints that clients use, and this server too: the confirmed ones. */
export const endpointsInForce = (object: ApiObject, productName: string): ApiEndpoints =>
  ((object.spec as Record<string, unknown> | undefined)?.[CONFIRMED_FIELD] as ApiEndpoints | undefined) ??
  writtenEndpoints(object, productName);

const factsOf = ({ serverEndpoints = [], caBundle = '' }: ApiEndpoints): [string[][], string] => [
  serverEndpoints.map(({ clientCIDR = '', serverAddress = '' }) => [clientCIDR, serverAddress]),
  caBundle,
];

export const sameEndpoints = (a: ApiEndpoints, b: ApiEndpoints): boolean =>
  a === b || JSON.stringify(factsOf(a)) === JSON.stringify(factsOf(b));

const sha256 = (facts: unknown): string => `sha256-${createHash('sha256').update(JSON.stringify(facts)).digest('hex')}`;

/** Identifies endpoints: every address, its network and the CA. */
export const endpointsFingerprint = (endpoints: ApiEndpoints): string => sha256(factsOf(endpoints));

function digestOf(object: ApiObject, endpoints: ApiEndpoints): string {
  const { namespace, name } = controllerOf(object) ?? { namespace: '', name: '' };
  const facts = [object.metadata.name ?? '', ...factsOf(endpoints), [namespace, name]];
  return sha256(facts);
}

/**
 * The value that confirms the endpoints as they were written last, and sending the credential to them. A change of an
 * address, a CA or the credential gives another value. The name is part of it, so that the value of one cluster is not
 * valid for another.
 */
export const endpointDigest = (object: ApiObject, productName: string): string =>
  digestOf(object, writtenEndpoints(object, productName));

/** Whether the credential, and kubeconfigs of users who had other ones, may be sent to the endpoints in force. */
export function isConfirmed(object: ApiObject, productName: string): boolean {
  const digest = object.metadata.annotations?.[CONFIRMED_ANNOTATION];
  return digest !== undefined && digest === digestOf(object, endpointsInForce(object, productName));
}

/** The key of the identity that is not in the public view, unlike the addresses. */
export const ID_KEY = `annotation ${CLUSTER_ID_ANNOTATION}`;

/**
 * What two clusters cannot share: an address, with the CA that clients get, and the id. Only the keys are legible. An
 * address without a CA says little: it may be that of a proxy.
 */
export function identitiesOf(object: ApiObject, productName: string): [key: string, value: string][] {
  const { serverEndpoints = [], caBundle = '' } = endpointsInForce(object, productName);
  const id = object.metadata.annotations?.[CLUSTER_ID_ANNOTATION];
  const ids: [string, string][] = id === undefined ? [] : [[ID_KEY, digest(id)]];
  if (caBundle === '') return ids;
  const ca = digest(caBundle);
  return [...serverEndpoints.map(({ serverAddress = '' }): [string, string] => [serverAddress, ca]), ...ids];
}

/** Half of SHA-256: the index keeps it for each cluster. */
const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22);
