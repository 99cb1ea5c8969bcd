/** JSON leaves these as they are; terminals and line readers do not (C1 controls, U+2028, U+2029). */
const UNSAFE = /[\u007f-\u009f\u2028\u2029]/g;

function escaped(line: string): string {
  return line.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The last net under "never log a token": what looks like a JWT or a bearer header is not written. */
const JWT = /eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)*/g;
/** Quickly found, and nothing that is looked for next is without it. */
const BEARER_END = /[rR]\s/;
const BEARER = /(bearer\s+)[\w\-.~+/=]{8,}/gi;

/** A line of JSON as it may be written: nothing in it that ends a line or moves a cursor, and no token. */
export function safeLine(line: string): string {
  const oneLine = escaped(line);
  // Most lines have none, and to look for that is cheaper.
  const withoutJwt = oneLine.includes('eyJ') ? oneLine.replace(JWT, '<redacted>') : oneLine;
  return BEARER_END.test(withoutJwt) ? withoutJwt.replace(BEARER, '$1<redacted>') : withoutJwt;
}
