import { isSystemName } from '../api/caller.ts';
import type { JsonObject } from '../lib/json.ts';
import { type CommonClaims, type CommonGrant, readActor, readAudiences, readSeconds, readText } from './claims.ts';
import { TokenRejected } from './jws.ts';

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
