import type { KeyObject } from 'node:crypto';
import { compactVerify, errors } from 'jose';
import type { Caller, User } from '../../api/caller.ts';
import type { Secret } from '../../observability/secret.ts';
import { decodeSegment, type JsonObject, parseJsonObject, type Segments, splitToken } from '../../tokens/jws.ts';
import { createSignedCache } from '../../tokens/signed-cache.ts';
import { TokenRejected } from '../../tokens/token-rejected.ts';
import { plainCaller } from '../plain-caller.ts';
import { claimedUser } from './claimed-user.ts';
import type { ProviderKey } from './key-set.ts';
import type { ProviderKeys } from './provider-keys.ts';
import type { ProviderConfig } from './read-config.ts';

/** Judges the tokens of one identity provider. */
export interface Provider {
  readonly config: ProviderConfig;
  /** For a token that names this issuer. Throws TokenRejected. */
  authenticate(token: Secret): Promise<Caller>;
  refreshKeys(): Promise<void>;
  /** Where its tokens are to be had. */
  origins(): readonly string[];
  /** From now on, nobody whom this provider vouched for is accepted. */
  close(): void;
}

export interface ProviderParts {
  readonly config: ProviderConfig;
  readonly keys: ProviderKeys;
  readonly now: () => number;
}

/** The issuer that an unverified token claims to be from; undefined when it is no token of this kind at all. */
export function claimedIssuer(token: string): string | undefined {
  const segments = splitToken(token);
  const payload = segments === undefined ? undefined : parsed(segments.payload);
  return typeof payload?.iss === 'string' ? payload.iss : undefined;
}

function parsed(segment: string): JsonObject | undefined {
  const bytes = decodeSegment(segment);
  return bytes === undefined ? undefined : parseJsonObject(bytes);
}

interface Vouched {
  readonly user: User;
  readonly key: KeyObject;
  readonly notBefore: number;
  readonly expiresAt: number;
}

const CACHE_ENTRIES = 10_000;
const CACHE_MS = 10_000;
/** As in kube-apiserver: a clock may be a minute behind the provider's, and an end is an end. */
const NOT_BEFORE_LEEWAY_MS = 60_000;

export function createProvider({ config, keys, now }: ProviderParts): Provider {
  // What a token says does not change. Its time and its key do, and are looked at whenever it is used.
  const cache = createSignedCache<Vouched>({ maxEntries: CACHE_ENTRIES, maxAgeMs: CACHE_MS, keep: () => true });
  let isClosed = false;

  async function vouch(token: string): Promise<Vouched> {
    const segments = splitToken(token);
    if (segments === undefined) throw new TokenRejected('token is malformed');
    const { alg, kid } = readHeader(segments);
    const key = await signingKey(token, alg, await keys.candidates(kid));
    const claims = parsed(segments.payload);
    if (claims === undefined || claims.iss !== config.issuer.url) throw new TokenRejected('token issuer is invalid');
    checkAudience(claims.aud, config.issuer.audiences);
    return {
      key,
      notBefore: claims.nbf === undefined ? Number.NEGATIVE_INFINITY : milliseconds(claims.nbf, 'nbf'),
      expiresAt: milliseconds(claims.exp, 'exp'),
      user: claimedUser(config.mappings, claims),
    };
  }

  function problem({ key, notBefore, expiresAt }: Vouched): string | undefined {
    const at = now();
    if (isClosed) return 'the identity provider is configured anew';
    if (at > expiresAt) return 'token has expired';
    if (at + NOT_BEFORE_LEEWAY_MS < notBefore) return 'token is not valid yet';
    return keys.has(key) ? undefined : 'the key that signed the token is no longer published';
  }

  return {
    config,
    async authenticate(token) {
      const vouched = await cache.get(token.digest(), now(), () => vouch(token.reveal()));
      const wrong = problem(vouched);
      if (wrong !== undefined) throw new TokenRejected(wrong);
      return plainCaller(vouched.user, () => problem(vouched) === undefined, vouched.expiresAt);
    },
    refreshKeys: () => keys.refresh(),
    origins: () => keys.origins(),
    close() {
      isClosed = true;
      keys.close();
    },
  };
}

function readHeader({ header, signature }: Segments): { readonly alg: string; readonly kid: string | undefined } {
  const { alg, kid, typ } = parsed(header) ?? {};
  // One token, one spelling: a signature that decodes to the same bytes must not be another token.
  if (typeof alg !== 'string' || decodeSegment(signature) === undefined) throw new TokenRejected('token is malformed');
  if (kid !== undefined && typeof kid !== 'string') throw new TokenRejected('token is malformed');
  // RFC 8725 section 3.11: a token of another kind (`at+jwt`, `logout+jwt`) does not say who somebody is.
  if (typ !== undefined && (typeof typ !== 'string' || typ.toUpperCase() !== 'JWT')) {
    throw new TokenRejected('token is of another type');
  }
  return { alg, kid };
}

/** Without a `kid` every key is tried, but not more of them than a provider would have. */
const MAX_TRIES = 8;

async function signingKey(token: string, alg: string, candidates: readonly ProviderKey[]): Promise<KeyObject> {
  if (candidates.length === 0) throw new TokenRejected('invalid signature, no keys found');
  const usable = candidates.filter(({ algorithms }) => algorithms.includes(alg));
  if (usable.length === 0) throw new TokenRejected('token algorithm does not match the key');
  for (const { key } of usable.slice(0, MAX_TRIES)) {
    try {
      await compactVerify(token, key, { algorithms: [alg] });
      return key;
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
    }
  }
  throw new TokenRejected('invalid signature');
}

/** RFC 7519 section 4.1.3: a text or a list of them. */
function checkAudience(aud: unknown, accepted: readonly string[]): void {
  const list: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!list.some((audience) => typeof audience === 'string' && accepted.includes(audience))) {
    throw new TokenRejected('token audience is not one of those that are accepted');
  }
}

function milliseconds(value: unknown, claim: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new TokenRejected(`token claim ${claim} is missing or malformed`);
  }
  return value * 1000;
}
