import type { Caller } from '../api/caller.ts';
import { type ApiError, unauthorized } from '../api/status.ts';
import { TokenRejected } from '../tokens/token-rejected.ts';
import { bearerToken } from './bearer.ts';
import type { TokenSource } from './token-source.ts';

export interface Authenticator {
  /**
   * Who sent this `Authorization` header. Rejects with the same 401 whatever is wrong; the reason is in the
   * error's `cause`, for the log alone. `warn` collects `Warning` headers.
   */
  authenticate(authorization: string | undefined, warn: (text: string) => void): Promise<Caller>;
}

export interface TokenSources {
  readonly staticTokens?: TokenSource | undefined;
  readonly adminToken: TokenSource;
  /** Further fixed tokens: those of the demo. */
  readonly fixedTokens?: readonly TokenSource[];
  readonly issuedTokens: TokenSource;
}

export function createAuthenticator(sources: TokenSources): Authenticator {
  // In this order; the first that knows the token decides.
  const chain: readonly TokenSource[] = [
    ...(sources.staticTokens === undefined ? [] : [sources.staticTokens]),
    sources.adminToken,
    ...(sources.fixedTokens ?? []),
    sources.issuedTokens,
  ];
  return {
    async authenticate(authorization, warn) {
      const token = bearerToken(authorization, warn);
      if (token === undefined) throw refusal('no bearer token');
      try {
        for (const source of chain) {
          const caller = await source.find(token);
          if (caller !== undefined) return caller;
        }
      } catch (error) {
        if (error instanceof TokenRejected) throw refusal(error);
        throw error;
      }
      throw refusal('invalid bearer token');
    },
  };
}

function refusal(cause: unknown): ApiError {
  const error = unauthorized();
  error.cause = cause;
  return error;
}
