import type { ApiObject, ObjectMeta } from '../api/kind.ts';
import type { ApiEndpoints, ClusterStatus } from '../api/kinds/cluster.ts';
import type { IssuedTokenSpec } from '../api/kinds/issued-token.ts';
import type { BoundObjectReference, TokenRequest } from '../api/kinds/token-request.ts';

/** What goes over the wire, as the client's callers see it. */

export interface Cluster extends ApiObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta & { name: string };
  /** The endpoints stand under `<product name>ApiEndpoints`: `endpointsOf` finds them whatever that word is. */
  spec?: Record<string, unknown>;
  status?: ClusterStatus;
}

export interface ClusterList {
  apiVersion: string;
  kind: string;
  metadata: {
    resourceVersion: string;
    /** `""` on the last page. */
    continue: string;
    remainingItemCount?: number;
    selfLink?: string;
  };
  items: Cluster[];
}

/** What a watcher is told. Types follow from what it was told before: ADDED is always new, DELETED was always known. */
export interface ClusterEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** For DELETED, the cluster as it was last seen. */
  readonly cluster: Cluster;
}

export interface ClusterSelection {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /**
   * `public` (the default): what every caller may see, with issuer, audience and longest lifetime as annotations.
   * `full`: whole objects, for the clusters that the caller may update.
   */
  readonly view?: 'public' | 'full';
  readonly signal?: AbortSignal;
}

export interface ListOptions extends ClusterSelection {
  /** How many clusters a page holds. */
  readonly limit?: number;
}

export interface WatchOptions extends ClusterSelection {
  /** Goes on from a list instead of starting with an ADDED for every cluster. */
  readonly from?: ClusterList;
  /** Called when the whole state has been told: at the start, and after an interruption that was too long to resume. */
  readonly onSynced?: () => void;
  /** Called whenever a stream has been opened: at the start, and after each interruption. */
  readonly onConnected?: () => void;
  /** Called before each new attempt, with what ended the last one. */
  readonly onInterruption?: (cause: unknown, delayMs: number) => void;
}

export interface TokenOptions {
  readonly cluster: string;
  readonly namespace: string;
  /** The service account. */
  readonly name: string;
  /** None means the cluster's own API. */
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number;
  /** Fails rather than being granted less than this. */
  readonly minExpirationSeconds?: number;
  /** It is to be used at the cluster's own API: warns if the audiences are such that it will not be accepted there. */
  readonly forCluster?: boolean;
  /** A record of it is kept until it ends: `listIssuedTokens` shows it. */
  readonly tracked?: boolean;
  readonly boundObjectRef?: BoundObjectReference;
  /** Every check, no token. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

export interface IssuedToken {
  /** `""` after a dry run. */
  readonly token: string;
  /** When it ends, as granted: that may be another time than was asked for. */
  readonly expirationTimestamp: string;
  /** The time of issue by the server's clock where the answer tells it, else by ours. Epoch milliseconds. */
  readonly issuedAt: number;
  readonly warnings: readonly string[];
  /** The whole answer. */
  readonly answer: TokenRequest;
}

/** The record of a token that is out. The token itself is not in it. */
export interface TrackedToken extends ApiObject {
  /** The name is the id of the token, its claim `jti`. */
  metadata: ObjectMeta & { name: string };
  spec: IssuedTokenSpec;
}

export interface TokenSelection {
  /** E.g. `spec.cluster=prod-eu-1`. */
  readonly fieldSelector?: string;
  readonly signal?: AbortSignal;
}

export interface UsableAccounts {
  readonly items: readonly { readonly namespace: string; readonly name: string }[];
  /** There are more than the server tells. */
  readonly incomplete: boolean;
}

const ENDPOINTS = /^[a-z0-9]+ApiEndpoints$/i;

/** Addresses and CA of a cluster, under whatever product name they are served. */
export function endpointsOf(cluster: Cluster): ApiEndpoints {
  const spec = cluster.spec ?? {};
  const field = Object.keys(spec).find((key) => ENDPOINTS.test(key));
  return field === undefined ? {} : ((spec[field] ?? {}) as ApiEndpoints);
}
