import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { USERPASS } from '../../api/kinds/token-request.ts';
import { type ResourceInfo, requestFor } from './request-info.ts';

const SERVICE_ACCOUNTS = { group: '', version: 'v1', resource: 'serviceaccounts' };
const CLUSTERS = { group: CLUSTER_GROUP, version: 'v1alpha1', resource: 'clusters' };

/** A TokenRequest that comes in another form than its path: as a token exchange, or as an item of a token list. */
export const tokenRequestInfo = (cluster: string, namespace: string, name: string): ResourceInfo =>
  requestFor(SERVICE_ACCOUNTS, 'create', { cluster, subresource: 'token', namespace, name });

/** The TokenRequest of a token for the caller. */
export const userpassInfo = (cluster: string): ResourceInfo =>
  requestFor(CLUSTERS, 'create', { subresource: USERPASS, name: cluster });
