import type { BoundObjectReference } from '../../api/kinds/token-request.ts';
import { subjectOf } from '../claims.ts';
import { decodeSegment, isJsonObject, type JsonObject, parseJsonObject, splitToken } from '../jws.ts';
import { readForeignJson } from './foreign-json.ts';

/** A token that a cluster has issued itself, read so far that nobody is handed somebody else's. */

export interface ExpectedToken {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Empty: the cluster's own, whatever it is called. */
  readonly audiences: readonly string[];
  readonly boundTo: BoundObjectReference | undefined;
  /** What was asked of the cluster. */
  readonly expirationSeconds: number;
  /** Milliseconds. */
  readonly now: number;
}

export interface GrantedToken {
  readonly token: string;
  readonly audiences: readonly string[];
  /** Seconds. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** The uid of the account in its own cluster. */
  readonly accountUid: string;
  /** Whom the cluster calls itself as an issuer; undefined when it does not say. */
  readonly issuer: string | undefined;
  /** The id of the token, for the audit trail; undefined when it has none. */
  readonly id: string | undefined;
}

/** The message is a clause about the answer, without anything out of it. */
export class WrongAnswer extends Error {
  override readonly name = 'WrongAnswer';
}

/** Clocks of two machines are not one. */
const LEEWAY_SECONDS = 60;
/** RFC 9562: a UUID has 36; others may use something longer, but nobody needs this much. */
const MAX_ID = 256;

export function readTokenAnswer(body: Buffer, expected: ExpectedToken): GrantedToken {
  const answer = readForeignJson(body);
  const status = member(answer, 'kind') === 'TokenRequest' ? member(answer, 'status') : undefined;
  const token = member(status, 'token');
  if (typeof token !== 'string') throw new WrongAnswer('it is not a TokenRequest with a token');
  const claims = readClaims(token);
  checkSubject(claims, expected);
  const audiences = readAudiences(claims.aud, expected.audiences);
  const { issuedAt, expiresAt } = readLifetime(claims, expected);
  const issuer = typeof claims.iss === 'string' ? claims.iss : undefined;
  return { token, audiences, issuedAt, expiresAt, accountUid: readUid(claims), issuer, id: readId(claims.jti) };
}

/** RFC 7519 section 7.2, except for the signature: only the cluster has to be able to check that. */
function readClaims(token: string): JsonObject {
  const segments = splitToken(token);
  const header = segments === undefined ? undefined : decodeJson(segments.header);
  const payload = segments === undefined ? undefined : decodeJson(segments.payload);
  const signature = segments === undefined ? undefined : decodeSegment(segments.signature);
  if (header === undefined || payload === undefined || signature === undefined || signature.length === 0) {
    throw new WrongAnswer('the token in it is not a signed JWT');
  }
  // Whoever can check such a signature can make one.
  if (typeof header.alg !== 'string' || /^(?:none|HS\d*)$/i.test(header.alg)) {
    throw new WrongAnswer('the token in it is not signed with a private key');
  }
  return payload;
}

function decodeJson(segment: string): JsonObject | undefined {
  const bytes = decodeSegment(segment);
  return bytes === undefined ? undefined : parseJsonObject(bytes);
}

const member = (value: unknown, name: string): unknown =>
  isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

function checkSubject(claims: JsonObject, { namespace, serviceAccount, boundTo }: ExpectedToken): void {
  const kubernetes = claims['kubernetes.io'];
  const names = [member(kubernetes, 'namespace'), member(member(kubernetes, 'serviceaccount'), 'name')];
  if (claims.sub !== subjectOf(namespace, serviceAccount) || names[0] !== namespace || names[1] !== serviceAccount) {
    throw new WrongAnswer('the token in it is for another account');
  }
  if (boundTo === undefined) return;
  // A token that is bound to nothing would live on after what it was to be bound to.
  const referent = member(kubernetes, (boundTo.kind ?? '').toLowerCase());
  const wanted = boundTo.uid ?? '';
  if (member(referent, 'name') !== boundTo.name || (wanted !== '' && member(referent, 'uid') !== wanted)) {
    throw new WrongAnswer('the token in it is not bound to the object that was asked for');
  }
}

/** RFC 7519 section 4.1.3: one, or a list. A token for more than was asked for opens more. */
function readAudiences(aud: unknown, asked: readonly string[]): string[] {
  const list: unknown[] = typeof aud === 'string' ? [aud] : Array.isArray(aud) ? aud : [];
  const audiences = list.filter((entry) => typeof entry === 'string');
  const isRight =
    asked.length === 0
      ? audiences.length > 0
      : audiences.length === asked.length && asked.every((audience) => audiences.includes(audience));
  if (!isRight || audiences.length !== list.length) throw new WrongAnswer('the token in it has other audiences');
  return audiences;
}

function readLifetime({ exp, iat }: JsonObject, { expirationSeconds, now }: ExpectedToken) {
  const at = now / 1000;
  const isRight =
    typeof exp === 'number' &&
    typeof iat === 'number' &&
    Number.isFinite(iat) &&
    exp > at &&
    exp <= at + expirationSeconds + LEEWAY_SECONDS &&
    iat <= at + LEEWAY_SECONDS &&
    iat < exp;
  if (!isRight) throw new WrongAnswer('the token in it has another lifetime than was asked for');
  return { issuedAt: Math.floor(iat), expiresAt: Math.floor(exp) };
}

function readUid(claims: JsonObject): string {
  const uid = member(member(claims['kubernetes.io'], 'serviceaccount'), 'uid');
  if (typeof uid !== 'string' || !isIdentifier(uid)) throw new WrongAnswer('the token in it does not tell the account');
  return uid;
}

const readId = (jti: unknown): string | undefined => (typeof jti === 'string' && isIdentifier(jti) ? jti : undefined);

const isIdentifier = (text: string): boolean => text.length <= MAX_ID && /^[\x21-\x7e]+$/.test(text);
