import { hash } from 'node:crypto';
import { CLUSTER_ID_ANNOTATION } from '../domain-keys.ts';
import type { ApiObject } from '../kind.ts';
import { endpointsInForce } from './confirmed-endpoint.ts';

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
