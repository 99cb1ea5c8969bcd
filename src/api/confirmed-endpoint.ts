import { createHash } from 'node:crypto';
import type { ApiObject } from './kind.ts';
import { type ApiEndpoints, controllerOf, endpointsField } from './kinds/cluster.ts';

/** Set by an administrator who has looked at where the credential of a cluster would be sent. */
export const CONFIRMED_ANNOTATION = 'clusterpass.dev/confirmed-endpoint';

/** The permission that setting it takes, on the cluster: whoever may only change the address must not have it. */
export const CONFIRM_VERB = 'confirm';

export const endpointsOf = (object: ApiObject, productName: string): ApiEndpoints =>
  ((object.spec as Record<string, unknown> | undefined)?.[endpointsField(productName)] ?? {}) as ApiEndpoints;

/** Whether the tokens of a cluster are its own, where the desk has been given credentials. */
export const issuesItself = (object: ApiObject): boolean => controllerOf(object) !== undefined;

/**
 * What is confirmed: that this credential may be sent to these addresses, whose certificates these authorities
 * sign. A change of any of them gives another value. The name is part of it, so that it fits one cluster only.
 */
export function endpointDigest(object: ApiObject, productName: string): string {
  const { serverEndpoints = [], caBundle = '' } = endpointsOf(object, productName);
  const { namespace, name } = controllerOf(object) ?? { namespace: '', name: '' };
  const facts = [
    object.metadata.name ?? '',
    serverEndpoints.map(({ clientCIDR = '', serverAddress = '' }) => [clientCIDR, serverAddress]),
    caBundle,
    [namespace, name],
  ];
  return `sha256-${createHash('sha256').update(JSON.stringify(facts)).digest('hex')}`;
}

export const isConfirmed = (object: ApiObject, productName: string): boolean =>
  object.metadata.annotations?.[CONFIRMED_ANNOTATION] === endpointDigest(object, productName);
