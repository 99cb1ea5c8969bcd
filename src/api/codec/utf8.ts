import { utf8Text } from '../../lib/text.ts';
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

/** Runs the parser of a member, or of an element. @throws EncodingError that knows the key */
export function within<T>(key: string | number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof EncodingError ? error.within(key) : error;
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

/**
 * A byte order mark stays in the text: JSON does not allow one, and Go does not skip it.
 *
 * @throws EncodingError that names the first invalid byte.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  const text = utf8Text(bytes);
  if (text !== undefined) return text;
  const at = firstInvalidByte(bytes);
  const byte = (bytes[at] ?? 0).toString(16).padStart(2, '0');
  throw new EncodingError(`byte ${at} (0x${byte}) is not UTF-8`);
}

/** @throws EncodingError when the text has a surrogate without its other half, as `"\ud800"` in JSON and YAML does. */
export function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  const half = /\p{Surrogate}/u.exec(text)?.[0] ?? '';
  throw new EncodingError(`\\u${half.charCodeAt(0).toString(16)} is half of a surrogate pair, without the other half`);
}

/** Where the text differs that the bytes become if what is invalid is replaced by U+FFFD. */
function firstInvalidByte(bytes: Uint8Array): number {
  const replaced = Buffer.from(LOSSY.decode(bytes));
  let at = 0;
  while (at < bytes.length && bytes[at] === replaced[at]) at++;
  // The sequence may begin with the first bytes of U+FFFD.
  while (isContinuation(replaced[at] ?? 0)) at--;
  return at;
}

const LOSSY = new TextDecoder('utf-8', { ignoreBOM: true });

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;
