import type { ApiObject, ObjectMeta } from '../api/kind.ts';
import type { ApiEndpoints, ClusterStatus } from '../api/kinds/cluster-spec.ts';
import type { IssuedTokenSpec } from '../api/kinds/issued-token.ts';
import type { BoundObjectReference, TokenRequest as SentTokenRequest } from '../api/kinds/token-request.ts';

export interface Cluster extends ApiObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta & { name: string };
  /** The endpoints are in `<product name>ApiEndpoints`: `endpointsInForce` finds them for any product name. */
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

/** A change of a cluster. ADDED is always new to the watcher; DELETED was always known. */
export interface ClusterEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** For DELETED, the last known state. */
  readonly cluster: Cluster;
}

export interface ClusterSelection {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /**
   * `public` (the default): the public view, with issuer, audience and maximum lifetime as annotations.
   * `full`: clusters with all fields that the caller may see.
   */
  readonly view?: 'public' | 'full' | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions extends ClusterSelection {
  /** The number of clusters on a page. */
  readonly limit?: number | undefined;
}

export interface WatchOptions extends ClusterSelection {
  /** Continues from a list instead of starting with an ADDED event for every cluster. */
  readonly from?: ClusterList | undefined;
  /** Called after all initial events: at the start, and after an interruption that was too long to resume. */
  readonly onSynced?: () => void;
  /** Called when a connection is open: at the start, and after each interruption. */
  readonly onConnected?: () => void;
  /** Called before each reconnection, with the error of the last connection, if any. */
  readonly onInterruption?: (cause: unknown, delayMs: number) => void;
}

export interface TokenOptions {
  readonly cluster: string;
  readonly namespace: string;
  /** The service account. */
  readonly name: string;
  /** Defaults to the cluster's API server. */
  readonly audiences?: readonly string[] | undefined;
  readonly expirationSeconds?: number | undefined;
  /** The request fails if the server would issue a shorter lifetime. */
  readonly minExpirationSeconds?: number | undefined;
  /** The token is for the cluster's API server: the response has a warning if that does not accept the audiences. */
  readonly forCluster?: boolean | undefined;
  /** An address of the cluster's API server, to which the token will be sent: the request fails if it is another's. */
  readonly forServer?: string | undefined;
  /** The server stores a record of the token until it expires, for `listIssuedTokens`. */
  readonly tracked?: boolean | undefined;
  readonly boundObjectRef?: BoundObjectReference | undefined;
  /** All checks without issuing a token. */
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A pass for the caller itself. Its audience follows from the cluster. */
export interface UserpassOptions
  extends Pick<
    TokenOptions,
    'cluster' | 'expirationSeconds' | 'minExpirationSeconds' | 'forServer' | 'tracked' | 'dryRun' | 'signal'
  > {
  /** The only group of the caller that the pass has. A connector requires one if it allows several of them. */
  readonly group?: string | undefined;
}

export interface RedeemOptions extends Pick<TokenOptions, 'forServer' | 'dryRun' | 'signal'> {
  /** The name of the pass. */
  readonly handle: string;
  /** The secret of a pass with `spec.codeChallenge`. */
  readonly codeVerifier?: string | undefined;
}

/** As the server answers: `boundObjectRef` is null for a token that is not bound to an object. */
export interface TokenRequest extends Omit<SentTokenRequest, 'spec'> {
  spec?: Omit<NonNullable<SentTokenRequest['spec']>, 'boundObjectRef'> & {
    boundObjectRef?: BoundObjectReference | null;
  };
}

export interface IssuedToken {
  /** `""` after a dry run. */
  readonly token: string;
  /** The lifetime may differ from the requested one. */
  readonly expirationTimestamp: string;
  /** The time of issue by the server's clock (Date header), else by the local clock. Epoch milliseconds. */
  readonly issuedAt: number;
  readonly warnings: readonly string[];
  /** The TokenRequest object in the response. */
  readonly tokenRequest: TokenRequest;
}

/** The record of a tracked pass. It does not contain the token. */
export interface TrackedToken extends ApiObject {
  /** The name is the ID of the token, its `jti` claim. */
  metadata: ObjectMeta & { name: string };
  spec: IssuedTokenSpec;
}

export interface TokenSelection {
  /** E.g. `spec.cluster=prod-eu-1`. */
  readonly fieldSelector?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface UsableAccounts {
  readonly items: readonly { readonly namespace: string; readonly name: string }[];
  /** Whether there are more accounts than the server returned. */
  readonly incomplete: boolean;
}

/** Repeats `CONFIRMED_FIELD`, because the client imports only types. */
const CONFIRMED_ENDPOINTS = 'confirmedEndpoints';
const ENDPOINTS = /^[a-z0-9]+ApiEndpoints$/i;

/**
 * The endpoints and the CA of a cluster, for any product name. If a change of them waits for confirmation, these are
 * the confirmed ones, in the full view too.
 */
export function endpointsInForce(cluster: Cluster): ApiEndpoints {
  const spec = cluster.spec ?? {};
  if (spec[CONFIRMED_ENDPOINTS] !== undefined) return spec[CONFIRMED_ENDPOINTS] as ApiEndpoints;
  const field = Object.keys(spec).find((key) => ENDPOINTS.test(key));
  return field === undefined ? {} : ((spec[field] ?? {}) as ApiEndpoints);
}
