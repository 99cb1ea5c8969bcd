import { goQuote } from './go-text/go-quote.ts';
import { type JsonNode, NumberNode, ObjectNode, TreeBudget } from './tree.ts';
import { decodeUtf8, wellFormed } from './utf8.ts';

/** Text that is not JSON. The message is that of Go's encoding/json, which clients know. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
}

/**
 * Parses one JSON value. JSON.parse would hide duplicate keys and the text of numbers, and has no limits. `budget` is
 * that of the body around the text, if there is one.
 *
 * @throws JsonSyntaxError when the text is not JSON.
 * @throws ApiError 400 when it is too deep, has too many members, or is not Unicode.
 */
export function parseJson(input: Uint8Array | string, budget = new TreeBudget()): JsonNode {
  return new Parser(typeof input === 'string' ? wellFormed(input) : decodeUtf8(input), budget).parse();
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

/** Reading past the end gives NaN, for which every comparison below is false. */
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isHex = (code: number): boolean =>
  isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);

class Parser {
  readonly #text: string;
  readonly #budget: TreeBudget;
  #at = 0;

  constructor(text: string, budget: TreeBudget) {
    this.#text = text;
    this.#budget = budget;
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
    const text = this.#text;
    let at = this.#at;
    // Programs mostly write JSON without spaces.
    const first = text.charCodeAt(at);
    if (first > 0x20) return first;
    at = endOf(SOME_SPACE, text, at);
    this.#at = at;
    return text.charCodeAt(at);
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
      this.#budget.keyLength(key.length);
      if (this.#skipSpace() !== COLON) throw this.#unexpected('after object key');
      this.#at++;
      this.#skipSpace();
      node.add(key, this.#value(depth + 1));
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
    const text = this.#text;
    const start = this.#at;
    if (text.charCodeAt(start) === MINUS) this.#at++;
    // A leading zero ends the integer part: a digit after it is an unexpected character.
    if (text.charCodeAt(this.#at) === 0x30) this.#at++;
    else this.#digits('in numeric literal');
    if (text.charCodeAt(this.#at) === 0x2e) {
      this.#at++;
      this.#digits('after decimal point in numeric literal');
    }
    const next = text.charCodeAt(this.#at);
    if (next === 0x65 || next === 0x45) {
      this.#at++;
      if (this.#code() === 0x2b || this.#code() === MINUS) this.#at++;
      this.#digits('in exponent of numeric literal');
    }
    return new NumberNode(text.slice(start, this.#at));
  }

  #digits(where: string): void {
    if (!isDigit(this.#code())) throw this.#unexpected(where);
    this.#at = endOf(SOME_DIGITS, this.#text, this.#at);
  }

  #string(): string {
    const text = this.#text;
    const open = this.#at;
    let at = open + 1;
    // Most strings are short and without escapes; for those this loop is faster than a regular expression.
    const near = Math.min(text.length, at + NEAR);
    while (at < near && isPlain(text.charCodeAt(at))) at++;
    if (at === near) at = endOfPlain(text, at);
    const plainEnd = at;
    if (text.charCodeAt(at) === BACKSLASH) at = this.#endOfEscaped(at);
    this.#at = at;
    if (this.#code() !== QUOTE) this.#failString();
    this.#at++;
    if (at === plainEnd) return text.slice(open + 1, at);
    // The literal is valid here. For megabytes of escapes the native parser is much faster than string concatenation.
    return wellFormed(String(JSON.parse(text.slice(open, at + 1))));
  }

  /** The end of text with escapes. Three megabytes of them would take 40 ms, so the budget ends it before. */
  #endOfEscaped(start: number): number {
    let at = start;
    SOME_TEXT.lastIndex = start;
    while (SOME_TEXT.test(this.#text)) {
      this.#budget.escaped(SOME_TEXT.lastIndex - at);
      at = SOME_TEXT.lastIndex;
    }
    return at;
  }

  /** At an invalid part of a string: a control character, an invalid escape, or the end of the text. */
  #failString(): never {
    if (this.#code() !== BACKSLASH) throw this.#unexpected('in string literal');
    this.#at++;
    if (this.#code() !== LOWER_U) throw this.#unexpected('in string escape code');
    do this.#at++;
    while (isHex(this.#code()));
    throw this.#unexpected('in \\u hexadecimal character escape');
  }
}

/** Up to this length a loop is used, then a regular expression. */
const NEAR = 64;
const isPlain = (code: number): boolean => code >= 0x20 && code !== QUOTE && code !== BACKSLASH;

/**
 * Regular expressions run as machine code from their second use on, when a loop is still interpreted: three megabytes
 * would take the loop 60 ms. The repetition is bounded, so that backtracking state stays small, and matching is
 * repeated.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it stops at.
const SOME_TEXT = /(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){1,1024}/y;
const SOME_SPACE = /[ \n\r\t]{1,4096}/y;
const SOME_DIGITS = /[0-9]{1,4096}/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const SPECIAL = /["\\\u0000-\u001f]/g;

/** The end of repeated matches of a sticky expression. */
function endOf(some: RegExp, text: string, start: number): number {
  let at = start;
  some.lastIndex = start;
  while (some.test(text)) at = some.lastIndex;
  return at;
}

/** A quote, an escape, a control character or the end of the input. */
function endOfPlain(text: string, start: number): number {
  SPECIAL.lastIndex = start;
  return SPECIAL.test(text) ? SPECIAL.lastIndex - 1 : text.length;
}

/** Go scans bytes: of a character beyond ASCII it prints the first byte as if it were a character. */
function quoteByte(codePoint: number): string {
  const char = String.fromCharCode(Buffer.from(String.fromCodePoint(codePoint))[0] ?? 0);
  if (char === "'") return "'\\''";
  return char === '"' ? `'"'` : `'${goQuote(char).slice(1, -1)}'`;
}
