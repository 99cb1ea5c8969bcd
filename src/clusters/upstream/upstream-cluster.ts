import { controllerOf, endpointsOf, isConfirmed } from '../../api/confirmed-endpoint.ts';
import type { ApiObject } from '../../api/kind.ts';
import type { UpstreamCluster } from './upstream-contract.ts';

/** A cluster object as the upstream client needs to know it. */
export function describeCluster(object: ApiObject, productName: string): UpstreamCluster {
  const { name = '', uid = '', generation = 0 } = object.metadata;
  const controller = controllerOf(object);
  return {
    name,
    uid,
    generation,
    endpoints: endpointsOf(object, productName),
    controller,
    confirmed: controller !== undefined && isConfirmed(object, productName),
  };
}
