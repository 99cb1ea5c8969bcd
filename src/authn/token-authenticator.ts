import type { Caller } from '../api/caller.ts';
import type { MaybePromise } from '../lib/maybe-promise.ts';
import type { Secret } from '../observability/secret.ts';

/** Knows the callers of one kind of bearer token. */
export interface TokenAuthenticator {
  /**
   * Undefined: a token of another kind, so the next authenticator is asked. Throws TokenRejected, or rejects with it,
   * when the token is of this kind and not accepted: then no other is asked. Not a promise when the caller is known
   * at once.
   */
  authenticateToken(token: Secret): MaybePromise<Caller | undefined>;
  /** As `authenticateToken`, for tokens of the MCP endpoint (MC-43). An authenticator without it knows none. */
  authenticateMcp?(token: Secret): MaybePromise<Caller | undefined>;
  /**
   * For tokens that name their audiences: as `authenticateToken`, for these audiences, and for tokens of one cluster
   * if it is given. An authenticator without it knows only tokens for this server.
   */
  authenticateFor?(
    token: Secret,
    audiences: readonly string[],
    cluster: string | undefined,
  ): Promise<AuthenticatedToken | undefined>;
}

export interface AuthenticatedToken {
  readonly caller: Caller;
  /** Those of the audiences asked for that the token is for. */
  readonly audiences: readonly string[];
}
