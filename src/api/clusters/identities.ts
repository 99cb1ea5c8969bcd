import { createHash } from 'node:crypto';
import { CLUSTER_ID_ANNOTATION } from '../domain-keys.ts';
import type { ApiObject } from '../kind.ts';
import { endpointsInForce } from './confirmed-endpoint.ts';

/** The key of the identity that is not in the public view, unlike the addresses. */
export const ID_KEY = `annotation ${CLUSTER_ID_ANNOTATION}`;

/** What two clusters cannot share: an address, with the CA that clients get, and the id. Only the keys are legible. */
export function identitiesOf(object: ApiObject, productName: string): Record<string, string> {
  const { serverEndpoints = [], caBundle = '' } = endpointsInForce(object, productName);
  const ca = sha256(caBundle);
  const addresses = serverEndpoints.map(({ serverAddress = '' }) => [serverAddress, ca]);
  const id = object.metadata.annotations?.[CLUSTER_ID_ANNOTATION];
  return Object.fromEntries(id === undefined ? addresses : [...addresses, [ID_KEY, sha256(id)]]);
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');
