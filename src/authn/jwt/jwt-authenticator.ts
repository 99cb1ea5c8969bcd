import { compactVerify, errors } from 'jose';
import type { Caller, OAuthClient } from '../../api/caller.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type MaybePromise, withValue } from '../../lib/promises.ts';
import type { Secret } from '../../observability/secret.ts';
import {
  decodeJsonSegment,
  decodeSegment,
  type Segments,
  splitToken,
  TokenRejected,
  unverifiedClaims,
} from '../../tokens/jws.ts';
import { VerifiedTokenCache } from '../../tokens/verified-token-cache.ts';
import { plainCaller } from '../token-authenticator.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import type { IssuerKey } from './jwks.ts';
import { mapClaims } from './map-claims.ts';
import type { JwtAuthenticatorConfig } from './read-configuration.ts';

/** Authenticates the tokens of one issuer: an entry of `jwt` in the AuthenticationConfiguration. */
export interface JwtAuthenticator {
  readonly config: JwtAuthenticatorConfig;
  /** For a token that names this issuer. Throws TokenRejected, or rejects with it. */
  authenticate(token: Secret): MaybePromise<Caller>;
  /** The same for a token of the MCP endpoint. */
  authenticateMcp(token: Secret): MaybePromise<Caller>;
  refreshKeys(): Promise<void>;
  /** Whether the keys of the issuer could not be fetched when this was last tried. */
  isFailing(): boolean;
  /** The origins at which tokens of the issuer are obtained. */
  origins(): readonly string[];
  /** From now on, no token of this authenticator is accepted. */
  close(): void;
}

interface JwtAuthenticatorParts {
  readonly config: JwtAuthenticatorConfig;
  readonly keys: IssuerKeys;
  /** The audience of tokens for the MCP endpoint. It excludes all others: such a token opens nothing else (MC-43). */
  readonly mcpAudience?: string;
  readonly now: () => number;
}

/** The issuer in an unverified token; undefined when the text is not a JWT. */
export function claimedIssuer(token: string): string | undefined {
  const { iss } = unverifiedClaims(token) ?? {};
  return typeof iss === 'string' ? iss : undefined;
}

/** When a token is valid, in epoch milliseconds. */
export interface TokenTimes {
  readonly notBefore: number;
  readonly expiresAt: number;
}

/** The caller of a token by this configuration, and the key that verified the signature. */
interface SignedJwt extends TokenTimes {
  readonly caller: Caller;
  readonly header: JwtHeader;
  readonly thumbprint: string;
  /** Whether the token is for the API, and whether it is for the MCP endpoint. */
  readonly isForApi: boolean;
  readonly isForMcp: boolean;
}

/** As in kube-apiserver: our clock may be a minute behind the issuer's. There is no leeway for the expiry. */
const NOT_BEFORE_LEEWAY_MS = 60_000;

export function createJwtAuthenticator({ config, keys, mcpAudience, now }: JwtAuthenticatorParts): JwtAuthenticator {
  const hasKey = ({ header, thumbprint }: SignedJwt): boolean =>
    usableKeys(keys.known(header.kid), header.alg).some((key) => key.thumbprint === thumbprint);
  const cache = new VerifiedTokenCache<SignedJwt>({ verify: verifySignature, hasKey });
  let isClosed = false;

  async function verifySignature(token: string): Promise<SignedJwt> {
    const segments = splitToken(token);
    if (segments === undefined) throw new TokenRejected('token is malformed');
    const header = readHeader(segments);
    const { thumbprint } = await findSigningKey(token, header);
    const claims = decodeJsonSegment(segments.payload);
    if (claims === undefined || claims.iss !== config.issuer.url) throw new TokenRejected('token issuer is invalid');
    const use = useOfAudiences(claims.aud, config.issuer.audiences, mcpAudience);
    const times = timesIn(claims);
    const user = mapClaims(config.mappings, claims);
    const signed: SignedJwt = {
      ...times,
      caller: plainCaller(user, () => problem(signed) === undefined, times.expiresAt, readOAuthClient(claims)),
      header,
      thumbprint,
      // RFC 8725 section 3.11: an access token (RFC 9068) opens the resource that it names, and identifies no person.
      isForApi: use === 'api' && !header.isAccessToken,
      isForMcp: use === 'mcp',
    };
    return signed;
  }

  async function findSigningKey(token: string, { kid, alg }: Pick<JwtHeader, 'kid' | 'alg'>): Promise<IssuerKey> {
    const found = await keys.find(kid);
    if (found.length === 0) throw new TokenRejected(keys.isFailing() ? NOT_FETCHED : NO_KEYS);
    return signingKey(token, alg, found);
  }

  /** Everything that can change after the signature was verified. */
  function problem(signed: SignedJwt): string | undefined {
    if (isClosed) return 'the issuer was removed from the configuration, or its entry was changed';
    return timeProblem(signed, now()) ?? (hasKey(signed) ? undefined : NO_KEYS);
  }

  const acceptFor =
    (isFor: 'isForApi' | 'isForMcp') =>
    (signed: SignedJwt): Caller => {
      const found = problem(signed);
      if (found !== undefined) throw new TokenRejected(found);
      if (!signed[isFor]) throw new TokenRejected(isFor === 'isForMcp' ? NOT_FOR_MCP : NOT_FOR_API);
      return signed.caller;
    };
  const acceptApi = acceptFor('isForApi');
  const acceptMcp = acceptFor('isForMcp');

  return {
    config,
    authenticate: (token) => withValue(cache.get(token), acceptApi),
    authenticateMcp: (token) => withValue(cache.get(token), acceptMcp),
    refreshKeys: () => keys.refresh(),
    isFailing: () => keys.isFailing(),
    origins: () => keys.origins(),
    close() {
      isClosed = true;
      keys.close();
    },
  };
}

const NOT_FOR_MCP = 'token is not for the MCP endpoint: its audience is another';
const NOT_FOR_API = 'token is of another type, or for the MCP endpoint alone';

interface JwtHeader {
  readonly alg: string;
  readonly kid: string | undefined;
  /** RFC 9068 section 2.1. */
  readonly isAccessToken: boolean;
}

export function readHeader({ header, signature }: Segments): JwtHeader {
  const { alg, kid, typ, crit, b64 } = decodeJsonSegment(header) ?? {};
  // One token, one spelling: a signature that decodes to the same bytes must not be another token.
  if (typeof alg !== 'string' || decodeSegment(signature) === undefined) throw new TokenRejected('token is malformed');
  if (kid !== undefined && typeof kid !== 'string') throw new TokenRejected('token is malformed');
  // RFC 7797 section 7: a JWT has no `b64`. No extension that `crit` could name is implemented.
  if (crit !== undefined || b64 !== undefined) throw new TokenRejected('token header has crit or b64');
  const type = typeof typ === 'string' ? typ.toUpperCase() : typ;
  const isAccessToken = type === 'AT+JWT' || type === 'APPLICATION/AT+JWT';
  // RFC 8725 section 3.11: a token of another type (`logout+jwt`) does not identify its bearer.
  if (type !== undefined && type !== 'JWT' && !isAccessToken) throw new TokenRejected('token is of another type');
  return { alg, kid, isAccessToken };
}

const MAX_CLIENT_ID = 256;

/** MC-45. Providers write scopes as `scope` (RFC 8693 section 4.2) or `scp`, as a text or as a list. */
function readOAuthClient({ client_id: clientId, azp, scope, scp }: JsonObject): OAuthClient {
  const id = [clientId, azp].find((claim): claim is string => typeof claim === 'string' && claim !== '');
  const isPlain = id !== undefined && id.length <= MAX_CLIENT_ID && !/[\p{Cc}\p{Cf}]/u.test(id) && id.isWellFormed();
  const scopes = [scope, scp].flat().flatMap((text) => (typeof text === 'string' ? text.split(' ') : []));
  return { id: isPlain ? id : undefined, scopes };
}

const NO_KEYS = 'invalid signature, no keys found';
const NOT_FETCHED = `${NO_KEYS}: the keys of the issuer could not be fetched`;

/** Without a `kid`, at most 8 keys of the algorithm are tried. */
const MAX_TRIES = 8;

const usableKeys = (keys: readonly IssuerKey[], alg: string): readonly IssuerKey[] =>
  keys.filter(({ algorithms }) => algorithms.includes(alg)).slice(0, MAX_TRIES);

export async function signingKey(token: string, alg: string, candidates: readonly IssuerKey[]): Promise<IssuerKey> {
  const usable = usableKeys(candidates, alg);
  if (usable.length === 0) throw new TokenRejected('token algorithm does not match the key');
  for (const candidate of usable) {
    try {
      await compactVerify(token, candidate.key, { algorithms: [alg] });
      return candidate;
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
    }
  }
  throw new TokenRejected('invalid signature');
}

/**
 * RFC 7519 section 4.1.3: `aud` is a string or a list of strings. A token for the MCP endpoint and another service is
 * refused: with it an agent could confirm, at the API, what it requests of its person.
 */
function useOfAudiences(aud: unknown, accepted: readonly string[], mcpAudience: string | undefined): 'api' | 'mcp' {
  const list: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  const isForMcp = mcpAudience !== undefined && list.includes(mcpAudience);
  if (isForMcp && list.some((audience) => audience !== mcpAudience)) throw new TokenRejected(MIXED_AUDIENCES);
  if (!accepted.some((audience) => list.includes(audience))) {
    throw new TokenRejected('token audience is not one of those that are accepted');
  }
  return isForMcp ? 'mcp' : 'api';
}

const MIXED_AUDIENCES = 'token is for the MCP endpoint and for another audience: it must have one of them alone';

export const timesIn = ({ nbf, exp }: JsonObject): TokenTimes => ({
  notBefore: nbf === undefined ? Number.NEGATIVE_INFINITY : milliseconds(nbf, 'nbf'),
  expiresAt: milliseconds(exp, 'exp'),
});

export function timeProblem({ notBefore, expiresAt }: TokenTimes, now: number): string | undefined {
  if (now > expiresAt) return 'token has expired';
  return now + NOT_BEFORE_LEEWAY_MS < notBefore ? 'token is not valid yet' : undefined;
}

function milliseconds(value: unknown, claim: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new TokenRejected(`token claim ${claim} is missing or malformed`);
  }
  return value * 1000;
}
