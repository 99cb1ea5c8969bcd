import { createHash } from 'node:crypto';
import type { ApiObject } from './kind.ts';
import { type ApiEndpoints, controllerOf, endpointsField } from './kinds/cluster.ts';

/** Set by an administrator who has checked the endpoints to which the credential of a cluster would be sent. */
export const CONFIRMED_ANNOTATION = 'clusterpass.dev/confirmed-endpoint';

/** The verb on the cluster that setting the annotation requires. Permission to update the cluster is not enough. */
export const CONFIRM_VERB = 'confirm';

export const endpointsOf = (object: ApiObject, productName: string): ApiEndpoints =>
  ((object.spec as Record<string, unknown> | undefined)?.[endpointsField(productName)] ?? {}) as ApiEndpoints;

/** Whether the cluster issues its own tokens, and the server forwards token requests to it. */
export const issuesItself = (object: ApiObject): boolean => controllerOf(object) !== undefined;

/**
 * The value that confirms sending this credential to these addresses under these CAs. A change of any of them gives
 * another value. The name is part of it, so that the value of one cluster is not valid for another.
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
