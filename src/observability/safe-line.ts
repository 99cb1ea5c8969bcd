import { REDACTED } from './token-text.ts';

/** JSON does not escape these, but terminals and line readers act on them (C1 controls, U+2028, U+2029). */
const UNSAFE = /[\u007f-\u009f\u2028\u2029]/g;

/** What looks like a JWT or a bearer header. */
const JWT = /eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)*/g;
const BEARER = /(bearer\s+)[\w\-.~+/=]{8,}/gi;

/**
 * A line of JSON as it may be written: nothing in it ends a line or moves a cursor, and no token is in it. The last net
 * under "never log a token".
 */
export const safeLine = (line: string): string =>
  (isPlainAscii(line) ? line : escapeUnsafe(line)).replace(JWT, REDACTED).replace(BEARER, `$1${REDACTED}`);

const escapeUnsafe = (line: string): string =>
  line.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Nearly every line is, and this test takes a tenth of the time of the expression. In ASCII only DEL is unsafe. */
const isPlainAscii = (line: string): boolean => Buffer.byteLength(line) === line.length && !line.includes('\u007f');
