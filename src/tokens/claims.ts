import { type Actor, accountUserName, isSystemName } from '../api/caller.ts';
import { LEEWAY_MS } from '../api/kind.ts';
import { isClusterName } from '../api/names.ts';
import { PEOPLE_PATH } from '../api/pass-audience.ts';
import { defined, isJsonObject, type JsonObject } from '../lib/json.ts';
import { TokenRejected } from './jws.ts';

/** The claims of a token (K-03 to K-07), and the issuer of a cluster. */

export interface ObjectRef {
  readonly name: string;
  readonly uid: string;
}

/** The node of a bound pod. A node that is not known here has no uid (T-32). */
export interface NodeRef {
  readonly name: string;
  readonly uid?: string;
}

interface KubernetesClaims {
  readonly namespace: string;
  readonly node?: NodeRef;
  readonly pod?: ObjectRef;
  readonly secret?: ObjectRef;
  readonly serviceaccount: ObjectRef;
}

/** What all tokens say that are signed here. They are encoded in alphabetical order (K-03). Times are epoch seconds. */
interface CommonClaims {
  /** Who requested the token, or acts for the person (RFC 8693 section 4.1). */
  readonly act?: Actor;
  readonly aud: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly iss: string;
  readonly jti: string;
  readonly nbf: number;
  readonly sub: string;
}

export interface TokenClaims extends CommonClaims {
  readonly 'kubernetes.io': KubernetesClaims;
}

interface CommonGrant {
  readonly issuer: string;
  readonly actor?: Actor | undefined;
  readonly expirationSeconds: number;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly randomUUID: () => string;
}

export interface TokenGrant extends CommonGrant {
  readonly audiences: readonly string[];
  readonly namespace: string;
  readonly serviceAccount: ObjectRef;
  /** At most one of pod and secret (K-07). */
  readonly pod?: ObjectRef | undefined;
  readonly secret?: ObjectRef | undefined;
  /** Only beside a pod. */
  readonly node?: NodeRef | undefined;
}

export function buildClaims(grant: TokenGrant): TokenClaims {
  const { pod, secret, node } = grant;
  if (pod !== undefined && secret !== undefined)
    throw new TypeError('a token is bound to a pod or to a secret, not both');
  if (node !== undefined && pod === undefined) throw new TypeError('a token names a node only through its pod');
  if (grant.audiences.length === 0) throw new TypeError('a token needs an audience');
  // Truncated, not rounded: a token must not claim to be issued in the future (K-05).
  const issuedAt = Math.floor(grant.now / 1000);
  return {
    ...(grant.actor === undefined ? {} : { act: grant.actor }),
    aud: [...grant.audiences],
    exp: issuedAt + grant.expirationSeconds,
    iat: issuedAt,
    iss: grant.issuer,
    jti: grant.randomUUID(),
    'kubernetes.io': {
      namespace: grant.namespace,
      ...(node === undefined
        ? {}
        : { node: { name: node.name, ...(node.uid === undefined ? {} : { uid: node.uid }) } }),
      ...(pod === undefined ? {} : { pod: { name: pod.name, uid: pod.uid } }),
      ...(secret === undefined ? {} : { secret: { name: secret.name, uid: secret.uid } }),
      serviceaccount: { name: grant.serviceAccount.name, uid: grant.serviceAccount.uid },
    },
    nbf: issuedAt,
    sub: accountUserName(grant.namespace, grant.serviceAccount.name),
  };
}

export interface Issuers {
  /** Of the server, without a slash at the end. */
  readonly baseUrl: string;
  issuerFor(cluster: string): string;
  /** Undefined unless `issuerFor` returns exactly this text for some cluster. */
  clusterOfIssuer(issuer: string): string | undefined;
  /** The issuer of passes for people in this cluster, which is also their only audience. */
  peopleIssuerFor(cluster: string): string;
  /** As `clusterOfIssuer`, for `peopleIssuerFor`. */
  clusterOfPeopleIssuer(issuer: string): string | undefined;
}

export function createIssuers({ baseUrl, productName }: { baseUrl: string; productName: string }): Issuers {
  const base = baseUrl.replace(/\/$/, '');
  const prefix = `${base}/${productName}/`;
  // OpenID Connect Core 3.1.3.7: the issuer must match exactly. No URL parsing, hence no normalisation:
  // another case, a trailing slash or an encoded letter names another issuer.
  const clusterOfIssuer = (issuer: string): string | undefined => {
    if (!issuer.startsWith(prefix)) return undefined;
    const cluster = issuer.slice(prefix.length);
    return isClusterName(cluster) ? cluster : undefined;
  };
  return {
    baseUrl: base,
    issuerFor: (cluster) => `${prefix}${cluster}`,
    clusterOfIssuer,
    peopleIssuerFor: (cluster) => `${prefix}${cluster}${PEOPLE_PATH}`,
    clusterOfPeopleIssuer: (issuer) =>
      issuer.endsWith(PEOPLE_PATH) ? clusterOfIssuer(issuer.slice(0, -PEOPLE_PATH.length)) : undefined,
  };
}

/**
 * The claims of a token whose signature holds, member by member. This server signed it, so a wrong shape means a
 * stolen key or a defect: there are no defaults.
 */
export function readClaims(payload: JsonObject): TokenClaims {
  const kubernetes = readKubernetes(payload['kubernetes.io']);
  const claims: TokenClaims = {
    ...(payload.act === undefined ? {} : { act: readActor(payload.act) }),
    aud: readAudiences(payload.aud),
    exp: readSeconds(payload.exp, 'exp'),
    iat: readSeconds(payload.iat, 'iat'),
    iss: readText(payload.iss, 'iss'),
    jti: readText(payload.jti, 'jti'),
    'kubernetes.io': kubernetes,
    nbf: readSeconds(payload.nbf, 'nbf'),
    sub: readText(payload.sub, 'sub'),
  };
  // Stricter than K-23: two claims that name the account must name the same one.
  if (claims.sub !== accountUserName(kubernetes.namespace, kubernetes.serviceaccount.name)) throw malformed('sub');
  return claims;
}

/** More than the server writes. The reader is recursive, so there is a limit. */
const MAX_ACTORS = 8;

function readActor(value: unknown, depth = MAX_ACTORS): Actor {
  if (!isJsonObject(value) || depth === 0) throw malformed('act');
  const before = value.act === undefined ? {} : { act: readActor(value.act, depth - 1) };
  return { ...before, iss: readText(value.iss, 'act.iss'), sub: readText(value.sub, 'act.sub') };
}

/**
 * A string counts as an array of one (RFC 7519 section 4.1.3); taking one form for "no restriction" was Vault's
 * CVE-2024-5798. An absent `aud` is an empty one, and an empty one matches nothing.
 */
function readAudiences(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const list: unknown = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(list)) throw malformed('aud');
  return list.map((entry) => readText(entry, 'aud'));
}

function readKubernetes(value: unknown): KubernetesClaims {
  if (!isJsonObject(value)) throw malformed('kubernetes.io');
  const node = value.node === undefined ? undefined : readNode(value.node);
  const pod = value.pod === undefined ? undefined : readRef(value.pod, 'pod');
  const secret = value.secret === undefined ? undefined : readRef(value.secret, 'secret');
  // A token bound to a node alone is never issued here, and there is no node to hold it against (K-21).
  if (node !== undefined && pod === undefined) throw malformed('kubernetes.io.node');
  return {
    namespace: readText(value.namespace, 'kubernetes.io.namespace'),
    ...defined({ node, pod, secret }),
    serviceaccount: readRef(value.serviceaccount, 'serviceaccount'),
  };
}

function readRef(value: unknown, member: string): ObjectRef {
  if (!isJsonObject(value)) throw malformed(`kubernetes.io.${member}`);
  return {
    name: readText(value.name, `kubernetes.io.${member}.name`),
    uid: readText(value.uid, `kubernetes.io.${member}.uid`),
  };
}

function readNode(value: unknown): NodeRef {
  if (!isJsonObject(value)) throw malformed('kubernetes.io.node');
  const name = readText(value.name, 'kubernetes.io.node.name');
  return value.uid === undefined ? { name } : { name, uid: readText(value.uid, 'kubernetes.io.node.uid') };
}

function readText(value: unknown, member: string): string {
  if (typeof value !== 'string' || value === '') throw malformed(member);
  return value;
}

/** The last millisecond at which a token is accepted. */
export const expiryOf = ({ exp }: Pick<TokenClaims, 'exp'>): number => exp * 1000 + LEEWAY_MS;

/** RFC 7519 section 2, NumericDate: any number; JSON has none that is not finite, but JavaScript reads 1e999 as one. */
function readSeconds(value: unknown, member: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw malformed(member);
  return value;
}

const malformed = (member: string): TokenRejected => new TokenRejected(`token claim ${member} is missing or malformed`);

/** The claims of a pass for a person. Issuer and audience differ from those of accounts, so none is mistaken. */

/** The UID of the cluster: another one of the same name does not accept the pass. */
export const CLUSTER_UID = 'clusterpass.dev/cluster-uid';

/** `sub` is the user name of the person, without a prefix. */
export interface PersonClaims extends CommonClaims {
  readonly [CLUSTER_UID]: string;
  /** Without those of the system. Absent when there are none. */
  readonly groups?: readonly string[];
}

/** The issuer is that of the people of one cluster; it is also the audience. */
export interface PersonGrant extends CommonGrant {
  readonly clusterUid: string;
  readonly name: string;
  readonly groups: readonly string[];
}

export function buildPersonClaims(grant: PersonGrant): PersonClaims {
  const { issuer, name, groups } = grant;
  if (name === '' || [name, ...groups].some(isSystemName)) throw new TypeError('the pass would name the system');
  const issuedAt = Math.floor(grant.now / 1000);
  return {
    ...(grant.actor === undefined ? {} : { act: grant.actor }),
    aud: [issuer],
    [CLUSTER_UID]: grant.clusterUid,
    exp: issuedAt + grant.expirationSeconds,
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    iat: issuedAt,
    iss: issuer,
    jti: grant.randomUUID(),
    nbf: issuedAt,
    sub: name,
  };
}

/** As `readClaims`: without defaults. A name of the system was never signed here. */
export function readPersonClaims(payload: JsonObject): PersonClaims {
  const { act, groups } = payload;
  if ('kubernetes.io' in payload) throw new TokenRejected('token of a person names a service account');
  const claims: PersonClaims = {
    ...(act === undefined ? {} : { act: readActor(act) }),
    aud: readAudiences(payload.aud),
    [CLUSTER_UID]: readText(payload[CLUSTER_UID], CLUSTER_UID),
    exp: readSeconds(payload.exp, 'exp'),
    ...(groups === undefined ? {} : { groups: readGroups(groups) }),
    iat: readSeconds(payload.iat, 'iat'),
    iss: readText(payload.iss, 'iss'),
    jti: readText(payload.jti, 'jti'),
    nbf: readSeconds(payload.nbf, 'nbf'),
    sub: readText(payload.sub, 'sub'),
  };
  if ([claims.sub, ...(claims.groups ?? [])].some(isSystemName)) throw new TokenRejected('token names the system');
  return claims;
}

function readGroups(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw new TokenRejected('token claim groups is missing or malformed');
  return value.map((group) => readText(group, 'groups'));
}
