import { endpointsInForce, isConfirmed } from '../../api/clusters/confirmed-endpoint.ts';
import type { ApiObject } from '../../api/kind.ts';
import { type ApiEndpoints, type CredentialReference, controllerOf } from '../../api/kinds/cluster-spec.ts';

/** The client of the API servers of registered clusters. */

/** How a cluster is reached. Plain data: it is sent to the probe worker. */
export interface UpstreamCluster {
  readonly name: string;
  readonly uid: string;
  /** Counts the changes of the spec. */
  readonly generation: number;
  readonly endpoints: ApiEndpoints;
  readonly controller: CredentialReference | undefined;
  /** Whether an administrator has confirmed this credential for these addresses and authorities. */
  readonly confirmed: boolean;
}

export function describeCluster(object: ApiObject, productName: string): UpstreamCluster {
  const { name = '', uid = '', generation = 0 } = object.metadata;
  const controller = controllerOf(object);
  return {
    name,
    uid,
    generation,
    endpoints: endpointsInForce(object, productName),
    controller,
    confirmed: controller !== undefined && isConfirmed(object, productName),
  };
}

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  /** Absolute and in the canonical form of the URL standard: dot segments, for example, are refused. */
  readonly path: string;
  /** JSON. */
  readonly body?: Uint8Array;
  /** True: send the credential that the cluster names. It must be confirmed. */
  readonly credential: boolean;
  /** A bearer token that is no secret, where no credential is sent. */
  readonly bearer?: string;
  /** From the DNS lookup to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** True: no request to this cluster follows soon. The connection is closed, unless it may be kept alive. */
  readonly last?: boolean;
}

export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** At most `MAX_ANSWER_BYTES`. */
  readonly body: Buffer;
}

export interface Upstream {
  /**
   * Sends one request at most once: it retries nothing and follows no redirect. The one exception is a GET over a
   * reused connection that the server had closed: it is sent again over a new one (RFC 9112 section 9.3.1). The request
   * goes to an address that was checked, over TLS that only the authorities of the cluster's caBundle can certify, and
   * has no headers but those made here. Any status except a redirect is an answer; everything else is an
   * `UpstreamError`.
   */
  request(cluster: UpstreamCluster, request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Drops the connections to the cluster: the next request opens a new one. */
  forget(cluster: UpstreamCluster): void;
  /** Aborts the requests in flight. */
  close(): Promise<void>;
}

/**
 * `address`     the cluster has no address, or one that Clusterpass does not connect to
 * `network`     the address cannot be reached
 * `tls`         the certificate does not prove that this is the cluster
 * `credential`  the credential is missing, unsafe, not confirmed or refused
 * `server`      the answer is too large, not HTTP or a redirect
 * `timeout`     no complete answer in time
 */
type UpstreamFailure = 'address' | 'network' | 'tls' | 'credential' | 'server' | 'timeout';

/** The message is a clause for people that fits after "cluster alpha: ". It contains no secret. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly reason: UpstreamFailure;

  constructor(reason: UpstreamFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

export const MAX_ANSWER_BYTES = 1024 * 1024;
export const MAX_HEADER_BYTES = 16 * 1024;
