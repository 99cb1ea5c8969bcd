import type { Caller } from '../api/caller.ts';
import type { TokenFindings, TokenQuestion } from '../api/kinds/token-review.ts';
import { type ApiError, unauthorized } from '../api/status.ts';
import type { MaybePromise } from '../lib/promises.ts';
import { clip, utf8Text } from '../lib/text.ts';
import { Secret } from '../observability/secret.ts';
import { TokenRejected } from '../tokens/jws.ts';
import { webOrigin } from './jwt/fetch-document.ts';
import { claimedIssuer } from './jwt/jwt-authenticator.ts';
import type { AuthenticatedToken, TokenAuthenticator } from './token-authenticator.ts';

export interface Authenticator {
  /**
   * The caller who sent this `Authorization` header. Rejects with the same 401 whatever is wrong (A-01); the reason is
   * in the error's `cause`, for the log alone. `warn` collects `Warning` headers. Not a promise when the caller is
   * known at once.
   */
  authenticate(authorization: string | undefined, warn: (text: string) => void): MaybePromise<Caller>;
  /** The same for a token that was sent in another place. */
  authenticateToken(token: Secret): MaybePromise<Caller>;
  /** As `authenticate`, for the MCP endpoint: it takes only tokens that were issued for it (MC-43). */
  authenticateMcp(authorization: string | undefined, warn: (text: string) => void): Promise<Caller>;
  /** The caller of a token that another server received, and whether the token is meant for that server. */
  review(token: Secret, asked: TokenQuestion): Promise<TokenFindings>;
}

/** Each list is in the order in which they are asked: the first that knows the token decides. */
interface TokenAuthenticators {
  readonly forRequests: readonly TokenAuthenticator[];
  /** Without those whose tokens no other server accepts. */
  readonly forReviews: readonly TokenAuthenticator[];
  /** For reviews of passes alone. */
  readonly forPasses: readonly TokenAuthenticator[];
  /** The audience of a cluster's API. */
  readonly audienceOf: (cluster: string) => string;
}

export function createAuthenticator(authenticators: TokenAuthenticators): Authenticator {
  const { forRequests, forReviews, forPasses, audienceOf } = authenticators;
  const ask = (token: Secret, from: number): MaybePromise<Caller> => {
    for (let at = from; at < forRequests.length; at++) {
      const found = forRequests[at]?.authenticateToken(token);
      if (found instanceof Promise) return found.then((caller) => caller ?? ask(token, at + 1));
      if (found !== undefined) return found;
    }
    throw refusal(unknownBecause(token.reveal()));
  };
  const authenticateToken = (token: Secret): MaybePromise<Caller> => {
    if (token.reveal().length > MAX_BEARER_LENGTH) return Promise.reject(refusal('the token is too long'));
    try {
      const found = ask(token, 0);
      return found instanceof Promise ? found.catch((error) => Promise.reject(asRefusal(error))) : found;
    } catch (error) {
      return Promise.reject(asRefusal(error));
    }
  };
  return {
    authenticateToken,
    authenticate(authorization, warn) {
      const token = bearerToken(authorization, warn);
      return token === undefined ? Promise.reject(refusal('no bearer token')) : authenticateToken(token);
    },

    async authenticateMcp(authorization, warn) {
      const token = bearerToken(authorization, warn);
      if (token === undefined) throw refusal('no bearer token');
      try {
        for (const { authenticateMcp } of forRequests) {
          const caller = await authenticateMcp?.(token);
          if (caller !== undefined) return caller;
        }
      } catch (error) {
        throw asRefusal(error);
      }
      throw refusal(unknownBecause(token.reveal(), NOT_FOR_MCP));
    },

    async review(token, { cluster, audiences, passesOnly = false }) {
      if (token.reveal().length > MAX_BEARER_LENGTH) return refused(UNKNOWN);
      const api = cluster === undefined ? [] : [audienceOf(cluster)];
      const wanted = audiences.length === 0 ? api : audiences;
      try {
        for (const authenticator of passesOnly ? forPasses : forReviews) {
          const found = await authenticateFor(authenticator, token, { wanted, api, cluster });
          if (found !== undefined) {
            return { authenticated: true, user: found.caller.as(cluster), audiences: found.audiences };
          }
        }
      } catch (error) {
        if (error instanceof TokenRejected) return refused(clip(error.message, MAX_REASON));
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

/** Why a token that is no JWT is refused. The MCP endpoint does not look up static tokens, which may be valid. */
const NO_STATIC_TOKEN = `${UNKNOWN}: it is no static token, and no JWT`;
const NOT_FOR_MCP = 'the token was not issued for the MCP endpoint';

/** For the log: the host of an issuer is all that is repeated of a token that could not be verified. */
function unknownBecause(token: string, opaque = NO_STATIC_TOKEN): string {
  const issuer = token.length > MAX_BEARER_LENGTH ? undefined : claimedIssuer(token);
  if (issuer === undefined) return opaque;
  const origin = webOrigin(issuer);
  return `${UNKNOWN}: no issuer of this server or of --authentication-config${origin === undefined ? '' : `: ${origin}`}`;
}

const refused = (error: string): TokenFindings => ({ authenticated: false, error });

/** As in kube-apiserver, a token that names no audience is for the API, and for no other audience. */
async function authenticateFor(
  authenticator: TokenAuthenticator,
  token: Secret,
  asked: { wanted: readonly string[]; api: readonly string[]; cluster: string | undefined },
): Promise<AuthenticatedToken | undefined> {
  const { wanted, api, cluster } = asked;
  if (authenticator.authenticateFor !== undefined) return authenticator.authenticateFor(token, wanted, cluster);
  const common = api.filter((audience) => wanted.includes(audience));
  if (common.length === 0 && wanted.length > 0) return undefined;
  const caller = await authenticator.authenticateToken(token);
  return caller && { caller, audiences: common };
}

const asRefusal = (error: unknown): unknown => (error instanceof TokenRejected ? refusal(error) : error);

function refusal(cause: unknown): ApiError {
  const error = unauthorized();
  error.cause = cause;
  return error;
}

/** Longer than any client sends, and about Node's limit for all headers of a request. */
const MAX_BEARER_LENGTH = 16 * 1024;

/** The form of nearly every client, which needs no decoding. */
const PLAIN = /^Bearer [\x21-\x7e]+$/;
const EXTRA_SPACE = 'the provided Authorization header contains extra space before the bearer token, and is ignored';

/**
 * The token in an `Authorization` header; undefined when it holds no credentials (A-03, W-08). No other part of a
 * request is read: RFC 9700 section 4.3.2 forbids tokens in the query.
 */
export function bearerToken(authorization: string | undefined, warn: (text: string) => void): Secret | undefined {
  if (authorization === undefined || authorization.length > MAX_BEARER_LENGTH) return undefined;
  if (PLAIN.test(authorization)) return new Secret(authorization.slice('Bearer '.length));
  const [scheme, token, rest] = authorization.trim().split(' ', 3);
  if (scheme?.toLowerCase() !== 'bearer' || token === undefined) return undefined;
  if (token === '') {
    if (rest !== undefined) warn(EXTRA_SPACE);
    return undefined;
  }
  const text = decodeHeaderText(token);
  return text === undefined ? undefined : new Secret(text);
}

/** Node decodes header bytes as Latin-1; token files are UTF-8. Undefined for bytes that are not UTF-8. */
function decodeHeaderText(latin1: string): string | undefined {
  const bytes = Buffer.from(latin1, 'latin1');
  return bytes.toString('latin1') === latin1 ? utf8Text(bytes) : undefined;
}
