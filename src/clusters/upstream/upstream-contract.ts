import type { CredentialReference } from '../../api/confirmed-endpoint.ts';
import type { ApiEndpoints } from '../../api/kinds/cluster.ts';

/** The API server of a registered cluster, as the desk talks to it. */

/** What of a cluster decides where and how it is reached. Plain data. */
export interface UpstreamCluster {
  readonly name: string;
  readonly uid: string;
  /** Moves with every change of the spec. */
  readonly generation: number;
  readonly endpoints: ApiEndpoints;
  readonly controller: CredentialReference | undefined;
  /** Whether an administrator has confirmed this credential for these addresses and authorities. */
  readonly confirmed: boolean;
}

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  /** Absolute, in the one form the URL standard gives it: dot segments and the like are refused. */
  readonly path: string;
  /** JSON. */
  readonly body?: Uint8Array;
  /** True: with the credential that the cluster names, which must be confirmed. */
  readonly credential: boolean;
  /** For all of it, from the look-up of the name to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** True: nothing follows soon. The connection is closed, or kept if that was provided for. */
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
   * One request, sent at most once: nothing is retried and no redirect is followed. Only a GET whose connection was
   * kept, and had been closed by the other side, is sent again over a new one (RFC 9112 section 9.3.1). It goes to
   * an address that was checked, over TLS that only the cluster's own authorities can vouch for, and carries no
   * header but those made here. Any status except a redirect is an answer; everything else is an `UpstreamError`.
   */
  request(cluster: UpstreamCluster, request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** The next request to the cluster does not use a connection that there is now. */
  forget(cluster: UpstreamCluster): void;
  /** Ends what is under way. */
  close(): Promise<void>;
}

/**
 * `address`     there is none, or the desk may not connect to it
 * `network`     nobody answers there
 * `tls`         whoever answers cannot show that it is this cluster
 * `credential`  the credential is missing, unsafe, not confirmed or not taken
 * `server`      the answer is none: too large, not HTTP, a redirect
 * `timeout`     no whole answer in time
 */
export type UpstreamFailure = 'address' | 'network' | 'tls' | 'credential' | 'server' | 'timeout';

/** The message is a clause for people, which fits after "cluster alpha: ". It holds no secret. */
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
