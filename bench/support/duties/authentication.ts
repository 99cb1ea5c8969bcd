import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { JWK } from 'jose';
import type { Caller as StaticCaller } from '../fleet.ts';
import { Refusal } from './response.ts';

/** A user as a cluster knows it, with the keys of its bindings in `Permissions`. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly subjects: readonly string[];
}

export interface Caller {
  /** The cluster of a service account; `""` for people, who are the same user everywhere. */
  readonly home: string;
  readonly atHome: User;
  readonly elsewhere: User;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** The id of an issued token. */
  readonly jti: string;
}

export const userIn = ({ home, atHome, elsewhere }: Caller, cluster: string): User =>
  cluster === home ? atHome : elsewhere;

interface Claims {
  readonly iss: string;
  readonly aud: readonly string[];
  readonly exp: number;
  readonly jti: string;
  readonly act?: { readonly sub: string };
  readonly 'kubernetes.io': {
    readonly namespace: string;
    readonly serviceaccount: { readonly name: string; readonly uid: string };
  };
}

interface AuthenticationSettings {
  readonly callers: readonly StaticCaller[];
  /** The text before the name of a cluster in its issuer. */
  readonly issuerPrefix: string;
  readonly keys: readonly JWK[];
}

/** Issued tokens whose signature was verified, at most. */
const MAX_VERIFIED = 10_000;
const AUTHENTICATED = 'system:authenticated';

const digestOf = (token: string): string => hash('sha256', token, 'base64');

/** Duty: the caller of each request, by its static token or by a token that was issued for it. */
export class Authentication {
  /** By the digest of the token: a lookup compares no secrets, and a heap dump shows none. */
  readonly #callers = new Map<string, Caller>();
  #verified = 0;
  readonly #revoked = new Set<string>();
  readonly #keys = new Map<string, KeyObject>();
  readonly #issuerPrefix: string;

  constructor({ callers, keys, issuerPrefix }: AuthenticationSettings) {
    this.#issuerPrefix = issuerPrefix;
    for (const key of keys) this.#keys.set(key.kid ?? '', createPublicKey({ key, format: 'jwk' }));
    for (const { name, token, groups: named = [] } of callers) {
      const groups = [...named, AUTHENTICATED];
      const user = { name, uid: `uid-${name}`, groups, subjects: subjectsOf(name, groups) };
      const caller = { home: '', atHome: user, elsewhere: user, expiresAt: Number.POSITIVE_INFINITY, jti: '' };
      this.#callers.set(digestOf(token), caller);
    }
  }

  /** Throws a `Refusal`. A signature is verified once; time and revocation are checked at each use. */
  callerOf({ headers: { authorization = '' } }: IncomingMessage): Caller {
    if (!authorization.startsWith('Bearer ')) throw new Refusal(401, 'no token');
    const token = authorization.slice('Bearer '.length);
    const digest = digestOf(token);
    const caller = this.#callers.get(digest) ?? this.#verify(token, digest);
    if (caller.expiresAt <= Date.now() || this.#revoked.has(caller.jti)) throw new Refusal(401, 'not valid any more');
    return caller;
  }

  #verify(token: string, digest: string): Caller {
    const [header = '', payload = '', signature = ''] = token.split('.');
    const key = this.#keys.get(String(decoded<{ kid?: string }>(header).kid));
    const input = Buffer.from(`${header}.${payload}`);
    const bytes = Buffer.from(signature, 'base64url');
    if (key === undefined || !verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, bytes)) {
      throw new Refusal(401, 'wrong signature');
    }
    const claims = decoded<Claims>(payload);
    if (!claims.iss.startsWith(this.#issuerPrefix) || !claims.aud.includes(claims.iss)) {
      throw new Refusal(401, 'token of another server');
    }
    const caller = accountCaller(claims, claims.iss.slice(this.#issuerPrefix.length));
    if (this.#verified < MAX_VERIFIED) {
      this.#verified += 1;
      this.#callers.set(digest, caller);
    }
    return caller;
  }
}

function decoded<T>(segment: string): T {
  try {
    return JSON.parse(Buffer.from(segment, 'base64url').toString()) as T;
  } catch {
    throw new Refusal(401, 'malformed token');
  }
}

/** In its own cluster a service account has the name that Kubernetes gives it, elsewhere one with its cluster. */
function accountCaller(
  { exp, jti, act, 'kubernetes.io': { namespace, serviceaccount } }: Claims,
  home: string,
): Caller {
  const { name, uid } = serviceaccount;
  const extra = {
    'authentication.kubernetes.io/credential-id': [`JTI=${jti}`],
    ...(act === undefined ? {} : { 'clusterpass.dev/requested-by': [act.sub] }),
  };
  const user = (userName: string, groups: string[], more: string[] = []): User => ({
    name: userName,
    uid,
    groups,
    extra,
    subjects: [...more, ...subjectsOf(userName, groups)],
  });
  return {
    home,
    atHome: user(
      `system:serviceaccount:${namespace}:${name}`,
      ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, AUTHENTICATED],
      [`ServiceAccount ${namespace}/${name}`],
    ),
    elsewhere: user(`system:cluster:${home}:serviceaccount:${namespace}:${name}`, [
      `system:cluster:${home}:serviceaccounts`,
      AUTHENTICATED,
    ]),
    expiresAt: exp * 1000,
    jti,
  };
}

const subjectsOf = (name: string, groups: readonly string[]): string[] => [
  `User ${name}`,
  ...groups.map((group) => `Group ${group}`),
];
