import { isUtf8 } from 'node:buffer';
import { badRequest } from '../status.ts';
import { type Path, pathText } from './violations.ts';

/**
 * Text that is not Unicode. Go replaces what is wrong by U+FFFD; here it is refused, because the caller would get
 * another name, audience or label than it sent, and two different texts would become equal.
 */
export class EncodingError extends Error {
  override readonly name = 'EncodingError';
  /** Innermost first. */
  readonly #keys: (string | number)[] = [];

  /** Adds the key of the value that contains the text. Called on the way out of the parser. */
  within(key: string | number): this {
    this.#keys.push(key);
    return this;
  }

  /** Where the text is: `spec.audiences[0]`. */
  get path(): string {
    const path = this.#keys.reduceRight<Path | undefined>((up, key) => ({ up, key, owner: undefined }), undefined);
    return pathText(path);
  }
}

/** Runs a parser of bodies. @throws ApiError 400 in place of an EncodingError. */
export function requireUnicode<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof EncodingError)) throw error;
    const where = error.path === '' ? '' : `${error.path}: `;
    throw badRequest(`the body of the request is not Unicode text: ${where}${error.message}`);
  }
}

/** A byte order mark stays in the text: JSON does not allow one, and Go does not skip it. */
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/** @throws EncodingError that names the first invalid byte. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    const at = firstInvalidByte(bytes);
    const byte = (bytes[at] ?? 0).toString(16).padStart(2, '0');
    throw new EncodingError(`byte ${at} (0x${byte}) is not UTF-8`);
  }
}

/** @throws EncodingError when the text has a surrogate without its other half, as `"\ud800"` in JSON and YAML does. */
export function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  const half = /\p{Surrogate}/u.exec(text)?.[0] ?? '';
  throw new EncodingError(`\\u${half.charCodeAt(0).toString(16)} is half of a surrogate pair, without the other half`);
}

/** Binary search: a loop over three megabytes would take 60 ms. */
function firstInvalidByte(bytes: Uint8Array): number {
  let start = 0;
  let end = bytes.length;
  while (end - start > MIN_RANGE) {
    const middle = characterStart(bytes, start + ((end - start) >> 1));
    if (isUtf8(bytes.subarray(start, middle))) start = middle;
    else end = middle;
  }
  // The rest begins at a character. It is cut off at `end`, so a character is tried with all of its bytes.
  while (start < end) {
    const length = [1, 2, 3, 4].find((size) => isUtf8(bytes.subarray(start, start + size)));
    if (length === undefined || start + length > bytes.length) return start;
    start += length;
  }
  return start;
}

/** The search ends here. More than a character, so that a step back to its start leaves bytes on both sides. */
const MIN_RANGE = 16;

/** `at`, or up to three bytes before it, if those bytes and the one at `at` may be one character. */
function characterStart(bytes: Uint8Array, at: number): number {
  for (let back = 0; back < 4; back++) if (((bytes[at - back] ?? 0) & 0xc0) !== 0x80) return at - back;
  return at;
}
