/** `clusterpass/client`: a typed client of the server, for Node and browsers. */
export type { ApiEndpoints, ClusterCondition, ClusterStatus, ServerEndpoint } from '../api/kinds/cluster-spec.ts';
export type { IssuedTokenSpec } from '../api/kinds/issued-token.ts';
export type { BoundObjectReference, IssuedPass, RequestedPass } from '../api/kinds/token-request.ts';
export type { Status, StatusCause, StatusDetails } from '../api/status.ts';
export type { Timing } from '../lib/backoff.ts';
export {
  clusterPrefix,
  type NonResourceAttributes,
  type ResourceAttributes,
  reviewAccess,
  reviewRules,
  reviewSelf,
  type SubjectAccessReviewStatus,
  type SubjectRulesReviewStatus,
  type UserInfo,
} from './access-reviews.ts';
export { type Client, type ClientOptions, createClient } from './create-client.ts';
export { ConnectionError, isStatus, StatusError } from './errors.ts';
export type { PassOptions } from './request-token.ts';
export type { TokenSource } from './token-source.ts';
export type { Fetch, Reply, RequestOptions, TokenProvider } from './transport.ts';
export {
  type Cluster,
  type ClusterEvent,
  type ClusterList,
  type ClusterSelection,
  endpointsInForce,
  type IssuedToken,
  type ListOptions,
  type RedeemOptions,
  type TokenOptions,
  type TokenRequest,
  type TokenSelection,
  type TrackedToken,
  type UsableAccounts,
  type UserpassOptions,
  type WatchOptions,
} from './types.ts';
