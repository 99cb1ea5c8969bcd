import { type KubernetesClaims, type NodeRef, type ObjectRef, subjectOf, type TokenClaims } from './claims.ts';
import { isJsonObject, type JsonObject } from './jws.ts';
import { TokenRejected } from './token-rejected.ts';

/**
 * The claims of a token whose signature holds, member by member. We signed it, so a wrong shape means that
 * somebody else has the key or that we have a defect: nothing is guessed or defaulted.
 */
export function readClaims(payload: JsonObject): TokenClaims {
  const kubernetes = readKubernetes(payload['kubernetes.io']);
  const claims: TokenClaims = {
    aud: readAudiences(payload.aud),
    exp: seconds(payload.exp, 'exp'),
    iat: seconds(payload.iat, 'iat'),
    iss: text(payload.iss, 'iss'),
    jti: text(payload.jti, 'jti'),
    'kubernetes.io': kubernetes,
    nbf: seconds(payload.nbf, 'nbf'),
    sub: text(payload.sub, 'sub'),
  };
  // Stricter than K-23: two claims that name the account must name the same one.
  if (claims.sub !== subjectOf(kubernetes.namespace, kubernetes.serviceaccount.name)) throw malformed('sub');
  return claims;
}

/**
 * A string counts as an array of one (RFC 7519 section 4.1.3); taking one form for "no restriction" was Vault's
 * CVE-2024-5798. An absent `aud` is an empty one, and an empty one matches nothing.
 */
function readAudiences(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const list: unknown = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(list)) throw malformed('aud');
  return list.map((entry) => text(entry, 'aud'));
}

function readKubernetes(value: unknown): KubernetesClaims {
  if (!isJsonObject(value)) throw malformed('kubernetes.io');
  const node = value.node === undefined ? undefined : readNode(value.node);
  const pod = value.pod === undefined ? undefined : readRef(value.pod, 'pod');
  const secret = value.secret === undefined ? undefined : readRef(value.secret, 'secret');
  // A token bound to a node alone is never issued here, and there is no node to hold it against (K-21).
  if (node !== undefined && pod === undefined) throw malformed('kubernetes.io.node');
  return {
    namespace: text(value.namespace, 'kubernetes.io.namespace'),
    ...(node === undefined ? {} : { node }),
    ...(pod === undefined ? {} : { pod }),
    ...(secret === undefined ? {} : { secret }),
    serviceaccount: readRef(value.serviceaccount, 'serviceaccount'),
  };
}

function readRef(value: unknown, member: string): ObjectRef {
  if (!isJsonObject(value)) throw malformed(`kubernetes.io.${member}`);
  return {
    name: text(value.name, `kubernetes.io.${member}.name`),
    uid: text(value.uid, `kubernetes.io.${member}.uid`),
  };
}

function readNode(value: unknown): NodeRef {
  if (!isJsonObject(value)) throw malformed('kubernetes.io.node');
  const name = text(value.name, 'kubernetes.io.node.name');
  return value.uid === undefined ? { name } : { name, uid: text(value.uid, 'kubernetes.io.node.uid') };
}

function text(value: unknown, member: string): string {
  if (typeof value !== 'string' || value === '') throw malformed(member);
  return value;
}

/** RFC 7519 section 2, NumericDate: any number; JSON has none that is not finite, but JavaScript reads 1e999 as one. */
function seconds(value: unknown, member: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw malformed(member);
  return value;
}

const malformed = (member: string): TokenRejected => new TokenRejected(`token claim ${member} is missing or malformed`);
