import { type Actor, isSystemName } from '../api/caller.ts';
import type { JsonObject } from '../lib/json.ts';
import { readActor, readAudiences, readSeconds, readText } from './claims.ts';
import { TokenRejected } from './jws.ts';

/** The claims of a pass for a person. Issuer and audience differ from those of accounts, so none is mistaken. */

/** The UID of the cluster: another one of the same name does not accept the pass. */
export const CLUSTER_UID = 'clusterpass.dev/cluster-uid';

/** In the order in which they are encoded: alphabetical (K-03). Times are epoch seconds. */
export interface PersonClaims {
  /** Who acts for the person (RFC 8693 section 4.1). */
  readonly act?: Actor;
  readonly aud: readonly string[];
  readonly [CLUSTER_UID]: string;
  readonly exp: number;
  /** Without those of the system. Absent when there are none. */
  readonly groups?: readonly string[];
  readonly iat: number;
  readonly iss: string;
  readonly jti: string;
  readonly nbf: number;
  /** The user name of the person, without a prefix. */
  readonly sub: string;
}

export interface PersonGrant {
  /** Of the people of one cluster; also the audience. */
  readonly issuer: string;
  readonly clusterUid: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly actor?: Actor | undefined;
  readonly expirationSeconds: number;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly randomUUID: () => string;
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
