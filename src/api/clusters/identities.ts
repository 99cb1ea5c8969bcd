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
export function identitiesOf(object: ApiObject, productName: string): Record<string, string> {
  const { serverEndpoints = [], caBundle = '' } = endpointsInForce(object, productName);
  const addressesWithCA = caBundle === '' ? [] : serverEndpoints;
  const ca = digest(caBundle);
  const addresses = addressesWithCA.map(({ serverAddress = '' }) => [serverAddress, ca]);
  const id = object.metadata.annotations?.[CLUSTER_ID_ANNOTATION];
  return Object.fromEntries(id === undefined ? addresses : [...addresses, [ID_KEY, digest(id)]]);
}

/** Half of SHA-256: the index keeps it for each cluster. */
const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22);
