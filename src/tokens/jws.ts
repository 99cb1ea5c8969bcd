import { isJsonObject, type JsonObject, parsedJson } from '../lib/json.ts';
import { utf8Text } from '../lib/text.ts';
import type { Algorithm } from './keys/algorithms.ts';

/** Compact JWS (RFC 7515 section 7.1), read so that one token has exactly one spelling. */

/**
 * A token of a kind that an authenticator recognizes and rejects. A token review shows the message (K-11 to K-20);
 * every other endpoint answers with the same 401, so that an attacker learns nothing from a guess.
 */
export class TokenRejected extends Error {
  override readonly name = 'TokenRejected';
}

/**
 * The longest token this service can issue has 32 audiences of 1,024 characters of up to four bytes each,
 * which base64 makes 175,000. A longer text is not parsed.
 */
const MAX_JWS_LENGTH = 256 * 1024;
/** An id of 1,024 bytes, each written with a backslash, is 2,800 characters when encoded; our own have 96. */
const MAX_HEADER_LENGTH = 3 * 1024;

export interface Segments {
  readonly header: string;
  readonly payload: string;
  readonly signature: string;
}

export function splitToken(token: string): Segments | undefined {
  if (token.length > MAX_JWS_LENGTH) return undefined;
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  if (first <= 0 || second < 0 || token.includes('.', second + 1)) return undefined;
  return {
    header: token.slice(0, first),
    payload: token.slice(first + 1, second),
    signature: token.slice(second + 1),
  };
}

/**
 * RFC 7515 section 2: URL-safe alphabet, no padding, no white space. Node's decoder also takes the other alphabet,
 * padding, junk and stray trailing bits, so only what encodes back to itself counts.
 */
export function decodeSegment(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

export const bytesIn = (segment: string): number => Math.floor((segment.length * 3) / 4);

/** Undefined for bytes that are not UTF-8: replacing them would turn a name or an audience into another one. */
export function parseJsonObject(bytes: Buffer): JsonObject | undefined {
  const text = utf8Text(bytes);
  const value = text === undefined ? undefined : parsedJson(text);
  return isJsonObject(value) ? value : undefined;
}

/** A segment that is the JSON of an object: the header or the payload. */
export function decodeJsonSegment(text: string): JsonObject | undefined {
  const bytes = decodeSegment(text);
  return bytes === undefined ? undefined : parseJsonObject(bytes);
}

/** The payload of a JWT whose signature was not checked; undefined when the text is no JWT. */
export function unverifiedClaims(token: string): JsonObject | undefined {
  const segments = splitToken(token);
  return segments === undefined ? undefined : decodeJsonSegment(segments.payload);
}

/**
 * Whether encoding the value again gives the same bytes, as for tokens of our signer. It does not for duplicate keys
 * (where parsers disagree on the first or the last), white space, invalid UTF-8 and numbers out of range.
 */
export function isCanonicalJson(value: JsonObject, bytes: Buffer): boolean {
  try {
    return Buffer.from(JSON.stringify(value)).equals(bytes);
  } catch {
    return false; // nested too deeply to be encoded
  }
}

/**
 * An allow-list. Other members change how a token is read (`crit`, `b64`, `zip`, `enc`) or where its key is found
 * (`jwk`, `jku`, `x5u`, `x5c`; RFC 8725 section 3.10), and tokens of this server have none of them.
 */
const HEADER_MEMBERS: ReadonlySet<string> = new Set(['alg', 'kid', 'typ']);

export function readHeader(segment: string) {
  const bytes = segment.length <= MAX_HEADER_LENGTH ? decodeSegment(segment) : undefined;
  const header = bytes === undefined ? undefined : parseJsonObject(bytes);
  if (bytes === undefined || header === undefined || !isCanonicalJson(header, bytes)) {
    throw new TokenRejected('token header is malformed');
  }
  const extra = Object.keys(header).find((member) => !HEADER_MEMBERS.has(member));
  if (extra !== undefined) throw new TokenRejected('token header has a member that is not accepted');
  const { alg, kid, typ } = header;
  if (typeof alg !== 'string') throw new TokenRejected('token header is malformed');
  if (kid !== undefined && typeof kid !== 'string') throw new TokenRejected('token header is malformed');
  // RFC 8725 section 3.11: a token of another type (`at+jwt`, `dpop+jwt`) is not a service account token.
  if (typ !== undefined && (typeof typ !== 'string' || typ.toUpperCase() !== 'JWT')) {
    throw new TokenRejected('token is of another type');
  }
  return { alg, kid };
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** K-01: exactly these two members, in this order, and no `typ`. */
export const encodeHeader = (alg: Algorithm, kid: string): string => encode({ alg, kid });

export const encodePayload = encode;
