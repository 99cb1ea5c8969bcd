import type { Caller } from '../api/caller.ts';
import type { TokenFindings } from '../api/kinds/token-review.ts';
import { type ApiError, clipped, unauthorized } from '../api/status.ts';
import type { ReviewToken } from '../handlers/reviews/review.ts';
import type { Secret } from '../observability/secret.ts';
import { TokenRejected } from '../tokens/token-rejected.ts';
import { bearerToken, MAX_TOKEN_LENGTH } from './bearer.ts';
import type { Addressed, TokenSource } from './token-authenticator.ts';

export interface Authenticator {
  /**
   * Who sent this `Authorization` header. Rejects with the same 401 whatever is wrong; the reason is in the
   * error's `cause`, for the log alone. `warn` collects `Warning` headers. A caller who is known at once is not a promise:
   * that is nearly everybody, and to wait costs more than to know. `connection` is what the header came on.
   */
  authenticate(
    authorization: string | undefined,
    warn: (text: string) => void,
    connection?: object,
  ): Caller | Promise<Caller>;
  /** Whose token it is that somebody else received, and whether it is meant for them. */
  review: ReviewToken;
}

export interface TokenSources {
  readonly staticTokens?: TokenSource | undefined;
  readonly adminToken: TokenSource;
  /** Further fixed tokens: those of the demo. */
  readonly fixedTokens?: readonly TokenSource[];
  readonly issuedTokens: TokenSource;
  /** Configured identity providers. */
  readonly providers?: TokenSource | undefined;
  /** What a cluster's API goes by among audiences. */
  readonly audienceOf: (cluster: string) => string;
}

export function createAuthenticator(sources: TokenSources): Authenticator {
  // In this order; the first that knows the token decides.
  const chain: readonly TokenSource[] = [
    ...(sources.staticTokens === undefined ? [] : [sources.staticTokens]),
    sources.adminToken,
    ...(sources.fixedTokens ?? []),
    sources.issuedTokens,
    ...(sources.providers === undefined ? [] : [sources.providers]),
  ];
  const ask = (token: Secret, from: number): Caller | Promise<Caller> => {
    for (let at = from; at < chain.length; at++) {
      const found = chain[at]?.find(token);
      if (found instanceof Promise) return found.then((caller) => caller ?? ask(token, at + 1));
      if (found !== undefined) return found;
    }
    throw refusal(UNKNOWN);
  };
  /**
   * What came last on a connection, from somebody who was known: mostly it comes again, and then its digest need not be made
   * again. Whose it is, and whether that still holds, is asked each time.
   */
  const last = new WeakMap<object, { readonly authorization: string | undefined; readonly token: Secret }>();
  const tokenOn = (connection: object | undefined, authorization: string | undefined): Secret | undefined => {
    const known = connection && last.get(connection);
    return known?.authorization === authorization ? known?.token : undefined;
  };
  return {
    authenticate(authorization, warn, connection) {
      const known = tokenOn(connection, authorization);
      const token = known ?? bearerToken(authorization, warn);
      if (token === undefined) return Promise.reject(refusal('no bearer token'));
      try {
        const found = ask(token, 0);
        if (found instanceof Promise) return found.catch((error) => Promise.reject(asRefusal(error)));
        if (known === undefined && connection !== undefined) last.set(connection, { authorization, token });
        return found;
      } catch (error) {
        return Promise.reject(asRefusal(error));
      }
    },

    async review(token, { cluster, audiences }) {
      if (token.reveal().length > MAX_TOKEN_LENGTH) return refused(UNKNOWN);
      const api = cluster === undefined ? [] : [sources.audienceOf(cluster)];
      const wanted = audiences.length === 0 ? api : audiences;
      try {
        for (const source of chain) {
          const found = await addressed(source, token, { wanted, api, cluster });
          if (found !== undefined) {
            return { authenticated: true, user: found.caller.as(cluster), audiences: found.audiences };
          }
        }
      } catch (error) {
        if (error instanceof TokenRejected) return refused(clipped(error.message, MAX_REASON));
        throw error;
      }
      return refused(UNKNOWN);
    },
  };
}

/** K-43 */
const UNKNOWN = 'invalid bearer token';
/** A reason can repeat the audiences that were asked for. */
const MAX_REASON = 2048;

const refused = (error: string): TokenFindings => ({ authenticated: false, error });

/** As kube-apiserver does with tokens that name no audience: they are good for the API, and for nobody else. */
async function addressed(
  source: TokenSource,
  token: Secret,
  asked: { wanted: readonly string[]; api: readonly string[]; cluster: string | undefined },
): Promise<Addressed | undefined> {
  const { wanted, api, cluster } = asked;
  if (source.findFor !== undefined) return source.findFor(token, wanted, cluster);
  const common = api.filter((audience) => wanted.includes(audience));
  if (common.length === 0 && wanted.length > 0) return undefined;
  const caller = await source.find(token);
  return caller && { caller, audiences: common };
}

const asRefusal = (error: unknown): unknown => (error instanceof TokenRejected ? refusal(error) : error);

function refusal(cause: unknown): ApiError {
  const error = unauthorized();
  error.cause = cause;
  return error;
}
