import { AUTHENTICATED, type Caller, type OAuthClient, type User } from '../api/caller.ts';
import type { MaybePromise } from '../lib/promises.ts';
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

/** A caller who is the same user in every cluster: from a token file or an AuthenticationConfiguration. */
export function plainCaller(user: User, isLive: () => boolean, expiresAt?: number, oauthClient?: OAuthClient): Caller {
  return {
    as: () => user,
    home: undefined,
    // JSON quotes, so no separator can be forged: different users have different keys.
    key: JSON.stringify([null, user.name, user.uid, user.groups]),
    flow: `user ${user.name}`,
    expiresAt,
    oauthClient,
    dependsOn: [],
    isLive,
  };
}

/** Every authenticated user is in `system:authenticated`, last in the list as in Kubernetes. */
export const withAuthenticated = (groups: readonly string[]): readonly string[] =>
  groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED];
