import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { USERPASS } from '../../api/kinds/token-request.ts';
import { type ResourceInfo, resourceInfo } from './request-info.ts';

/** A TokenRequest that comes in another form than its path: as a token exchange, or as an item of a token list. */
export const tokenRequestInfo = (cluster: string, namespace: string, name: string): ResourceInfo =>
  resourceInfo({
    verb: 'create',
    cluster,
    group: '',
    version: 'v1',
    resource: 'serviceaccounts',
    subresource: 'token',
    namespace,
    name,
    alwaysPublic: false,
  });

/** The TokenRequest of a token for the caller. */
export const userpassInfo = (cluster: string): ResourceInfo =>
  resourceInfo({
    verb: 'create',
    cluster: undefined,
    group: CLUSTER_GROUP,
    version: 'v1alpha1',
    resource: 'clusters',
    subresource: USERPASS,
    namespace: '',
    name: cluster,
    alwaysPublic: false,
  });
