import { accountUserName, isRecordableJti } from '../../api/caller.ts';
import { JsonSyntaxError, parseJson } from '../../api/codec/parse-json.ts';
import { toPlain } from '../../api/codec/tree.ts';
import type { BoundObjectReference } from '../../api/kinds/token-request.ts';
import { ApiError } from '../../api/status.ts';
import { type JsonObject, memberOf } from '../../lib/json.ts';
import { looksLikeToken } from '../../lib/text.ts';
import { decodeJsonSegment, decodeSegment, splitToken } from '../jws.ts';

/** A token that a cluster issued itself. It is checked so that a caller never gets the token of another account. */

export interface ExpectedToken {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Empty: the default audience of the cluster, which is not known here. */
  readonly audiences: readonly string[];
  readonly boundTo: BoundObjectReference | undefined;
  /** As in the request to the cluster. */
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
  readonly accountUid: string;
  /** The issuer of the cluster; undefined when the token has none. */
  readonly issuer: string | undefined;
  /** `jti`, for the audit trail; undefined when the token has none that may be recorded. */
  readonly id: string | undefined;
}

/** The message is a clause about the response, and quotes nothing of it. */
export class UnexpectedResponse extends Error {
  override readonly name = 'UnexpectedResponse';
}

/** For clocks that differ between machines. */
const LEEWAY_SECONDS = 60;
/** The caller sees the audiences that the cluster chose; the bounds are those of a request. */
const MAX_AUDIENCES = 32;
const AUDIENCE = /^\P{Cc}{1,1024}$/u;

/** Throws UnexpectedResponse. */
export function readTokenResponse(body: Buffer, expected: ExpectedToken): GrantedToken {
  const response = parseUpstreamJson(body);
  const status = memberOf(response, 'kind') === 'TokenRequest' ? memberOf(response, 'status') : undefined;
  const token = memberOf(status, 'token');
  if (typeof token !== 'string') throw new UnexpectedResponse('it is not a TokenRequest with a token');
  const claims = decodeToken(token);
  checkSubject(claims, expected);
  const audiences = checkAudiences(claims.aud, expected.audiences);
  const { issuedAt, expiresAt } = readLifetime(claims, expected);
  const issuer = typeof claims.iss === 'string' ? claims.iss : undefined;
  return { token, audiences, issuedAt, expiresAt, accountUid: readUid(claims), issuer, id: readId(claims.jti) };
}

/** RFC 7519 section 7.2, without the signature, which the cluster itself verifies. */
function decodeToken(token: string): JsonObject {
  const segments = splitToken(token);
  const header = segments === undefined ? undefined : decodeJsonSegment(segments.header);
  const payload = segments === undefined ? undefined : decodeJsonSegment(segments.payload);
  const signature = segments === undefined ? undefined : decodeSegment(segments.signature);
  if (header === undefined || payload === undefined || signature === undefined || signature.length === 0) {
    throw new UnexpectedResponse('the token in it is not a signed JWT');
  }
  // A verifier of such a signature can also forge one.
  if (typeof header.alg !== 'string' || /^(?:none|HS\d*)$/i.test(header.alg)) {
    throw new UnexpectedResponse('the token in it is not signed with a private key');
  }
  return payload;
}

function checkSubject(claims: JsonObject, { namespace, serviceAccount, boundTo }: ExpectedToken): void {
  const kubernetes = claims['kubernetes.io'];
  const names = [memberOf(kubernetes, 'namespace'), memberOf(kubernetes, 'serviceaccount', 'name')];
  if (
    claims.sub !== accountUserName(namespace, serviceAccount) ||
    names[0] !== namespace ||
    names[1] !== serviceAccount
  ) {
    throw new UnexpectedResponse('the token in it is for another account');
  }
  if (boundTo === undefined) return;
  // A token without the binding would stay valid after the object is deleted.
  const referent = memberOf(kubernetes, (boundTo.kind ?? '').toLowerCase());
  const wanted = boundTo.uid ?? '';
  if (memberOf(referent, 'name') !== boundTo.name || (wanted !== '' && memberOf(referent, 'uid') !== wanted)) {
    throw new UnexpectedResponse('the token in it is not bound to the object that was asked for');
  }
}

/** RFC 7519 section 4.1.3: a string or a list. A token with further audiences would grant more than was requested. */
function checkAudiences(aud: unknown, asked: readonly string[]): string[] {
  const list: unknown[] = typeof aud === 'string' ? [aud] : Array.isArray(aud) ? aud : [];
  const audiences = list.filter((entry) => typeof entry === 'string');
  const isRight =
    asked.length === 0
      ? audiences.length > 0 &&
        audiences.length <= MAX_AUDIENCES &&
        audiences.every((audience) => AUDIENCE.test(audience))
      : audiences.length === asked.length && asked.every((audience) => audiences.includes(audience));
  if (!isRight || audiences.length !== list.length) throw new UnexpectedResponse('the token in it has other audiences');
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
  if (!isRight) throw new UnexpectedResponse('the token in it has another lifetime than was asked for');
  return { issuedAt: Math.floor(iat), expiresAt: Math.floor(exp) };
}

function readUid(claims: JsonObject): string {
  const uid = memberOf(claims['kubernetes.io'], 'serviceaccount', 'uid');
  if (!isRecordableJti(uid) || looksLikeToken(uid)) {
    throw new UnexpectedResponse('the token in it has no uid of the account');
  }
  return uid;
}

/** An id that looks like a token is not recorded: a hostile cluster knows the tokens that others send to it. */
const readId = (jti: unknown): string | undefined => (isRecordableJti(jti) && !looksLikeToken(jti) ? jti : undefined);

/**
 * JSON of another server; undefined when it is not JSON. By the decoder that bounds depth and count: `JSON.parse` takes
 * long for some texts of a mebibyte.
 */
export function parseUpstreamJson(body: Buffer): unknown {
  try {
    return toPlain(parseJson(body));
  } catch (error) {
    // The decoder reports its limits as errors of a request.
    if (error instanceof JsonSyntaxError || error instanceof ApiError) return undefined;
    throw error;
  }
}
