import { type JsonNode, NumberNode, ObjectNode, TreeBudget } from './tree.ts';

/** Text that is not JSON. The message is the one of Go's encoding/json, which clients have learned to read. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
}

/**
 * Reads one JSON value. JSON.parse would hide repeated keys and the text of numbers, and sets no limits.
 * Invalid UTF-8 and halves of surrogate pairs become U+FFFD, as in Go.
 *
 * @throws JsonSyntaxError when the text is not JSON.
 * @throws ApiError 400 when it is too deep or has too many members.
 */
export function parseJson(input: Uint8Array | string): JsonNode {
  return new Parser(typeof input === 'string' ? input.toWellFormed() : decodeUtf8(input)).parse();
}

/** A byte order mark stays in the text: JSON does not allow one, and Go does not skip it. */
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

export function decodeUtf8(bytes: Uint8Array): string {
  return UTF8.decode(bytes);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const LOWER_U = 0x75;

/** Reading past the end gives NaN, which is no digit, no space and no delimiter: each check fails by itself. */
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isHex = (code: number): boolean =>
  isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
/** One of `"` `\\` `/` `b` `f` `n` `r` `t`. */
const isEscapeLetter = (code: number): boolean =>
  code === QUOTE ||
  code === BACKSLASH ||
  code === 0x2f ||
  code === 0x62 ||
  code === 0x66 ||
  code === 0x6e ||
  code === 0x72 ||
  code === 0x74;

class Parser {
  readonly #text: string;
  readonly #budget = new TreeBudget();
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): JsonNode {
    this.#skipSpace();
    const value = this.#value(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected('after top-level value');
    return value;
  }

  #code(): number {
    return this.#text.charCodeAt(this.#at);
  }

  #skipSpace(): number {
    let code = this.#code();
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      this.#at++;
      code = this.#code();
    }
    return code;
  }

  #unexpected(where: string): JsonSyntaxError {
    if (this.#at >= this.#text.length) return new JsonSyntaxError('unexpected end of JSON input');
    return new JsonSyntaxError(`invalid character ${quoteByte(this.#text.codePointAt(this.#at) ?? 0)} ${where}`);
  }

  #value(depth: number): JsonNode {
    const code = this.#code();
    if (code === QUOTE) return this.#string();
    if (code === OPEN_BRACE) return this.#object(depth);
    if (code === OPEN_BRACKET) return this.#array(depth);
    if (code === MINUS || isDigit(code)) return this.#number();
    if (code === 0x74) return this.#literal('true', true);
    if (code === 0x66) return this.#literal('false', false);
    if (code === 0x6e) return this.#literal('null', null);
    throw this.#unexpected('looking for beginning of value');
  }

  #object(depth: number): ObjectNode {
    this.#budget.open(depth);
    const node = new ObjectNode();
    this.#at++;
    if (this.#skipSpace() === CLOSE_BRACE) {
      this.#at++;
      return node;
    }
    for (;;) {
      if (this.#skipSpace() !== QUOTE) throw this.#unexpected('looking for beginning of object key string');
      this.#budget.key();
      const key = this.#string();
      if (this.#skipSpace() !== COLON) throw this.#unexpected('after object key');
      this.#at++;
      this.#skipSpace();
      node.keys.push(key);
      node.values.push(this.#value(depth + 1));
      const next = this.#skipSpace();
      if (next !== COMMA && next !== CLOSE_BRACE) throw this.#unexpected('after object key:value pair');
      this.#at++;
      if (next === CLOSE_BRACE) return node;
    }
  }

  #array(depth: number): JsonNode[] {
    this.#budget.open(depth);
    const items: JsonNode[] = [];
    this.#at++;
    if (this.#skipSpace() === CLOSE_BRACKET) {
      this.#at++;
      return items;
    }
    for (;;) {
      this.#skipSpace();
      this.#budget.element();
      items.push(this.#value(depth + 1));
      const next = this.#skipSpace();
      if (next !== COMMA && next !== CLOSE_BRACKET) throw this.#unexpected('after array element');
      this.#at++;
      if (next === CLOSE_BRACKET) return items;
    }
  }

  #literal<T>(word: string, value: T): T {
    for (let index = 1; index < word.length; index++) {
      this.#at++;
      if (this.#code() !== word.charCodeAt(index)) {
        throw this.#unexpected(`in literal ${word} (expecting '${word[index]}')`);
      }
    }
    this.#at++;
    return value;
  }

  #number(): NumberNode {
    const start = this.#at;
    if (this.#code() === MINUS) this.#at++;
    // A number cannot start with a zero and go on: the next digit is then an unexpected character.
    if (this.#code() === 0x30) this.#at++;
    else this.#digits('in numeric literal');
    if (this.#code() === 0x2e) {
      this.#at++;
      this.#digits('after decimal point in numeric literal');
    }
    if (this.#code() === 0x65 || this.#code() === 0x45) {
      this.#at++;
      if (this.#code() === 0x2b || this.#code() === MINUS) this.#at++;
      this.#digits('in exponent of numeric literal');
    }
    return new NumberNode(this.#text.slice(start, this.#at));
  }

  #digits(where: string): void {
    if (!isDigit(this.#code())) throw this.#unexpected(where);
    while (isDigit(this.#code())) this.#at++;
  }

  #string(): string {
    const text = this.#text;
    const open = this.#at;
    let escaped = false;
    let at = open + 1;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        escaped = true;
        const letter = text.charCodeAt(at + 1);
        // `at` is a local for speed; the slow path gets it through the field.
        if (isEscapeLetter(letter)) at += 2;
        else at = this.#unicodeEscape(at + 1);
      } else if (code >= 0x20) {
        at++;
      } else {
        this.#at = at;
        throw this.#unexpected('in string literal');
      }
    }
    this.#at = at + 1;
    if (!escaped) return text.slice(open + 1, at);
    // The literal is known to be right. Putting megabytes of escapes together here, piece by piece,
    // would block for longer than the native parser needs for all of it.
    return String(JSON.parse(text.slice(open, at + 1))).toWellFormed();
  }

  /** Checks the escape whose letter is at `letter`, and returns where the text goes on. */
  #unicodeEscape(letter: number): number {
    this.#at = letter;
    if (this.#code() !== LOWER_U) throw this.#unexpected('in string escape code');
    while (++this.#at <= letter + 4) {
      if (!isHex(this.#code())) throw this.#unexpected('in \\u hexadecimal character escape');
    }
    return this.#at;
  }
}

const BYTE_ESCAPES: ReadonlyMap<number, string> = new Map([
  [0x07, '\\a'],
  [0x08, '\\b'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0b, '\\v'],
  [0x0c, '\\f'],
  [0x0d, '\\r'],
  [0x27, "\\'"],
  [0x5c, '\\\\'],
]);

/** Go scans bytes: of a character beyond ASCII it names the first byte, as if that were a character. */
function quoteByte(codePoint: number): string {
  const byte = firstUtf8Byte(codePoint);
  const escaped = BYTE_ESCAPES.get(byte);
  if (escaped !== undefined) return `'${escaped}'`;
  if (byte < 0x20 || byte === 0x7f) return `'\\x${byte.toString(16).padStart(2, '0')}'`;
  return `'${String.fromCharCode(byte)}'`;
}

function firstUtf8Byte(codePoint: number): number {
  if (codePoint < 0x80) return codePoint;
  if (codePoint < 0x800) return 0xc0 | (codePoint >> 6);
  return codePoint < 0x1_0000 ? 0xe0 | (codePoint >> 12) : 0xf0 | (codePoint >> 18);
}
