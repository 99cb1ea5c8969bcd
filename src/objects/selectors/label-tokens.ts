/** Words and signs of a label selector. `in` and `notin` are words; the parser decides what they mean where. */
export type TokenKind = 'word' | 'end' | '=' | '==' | '!=' | '!' | '>' | '<' | '(' | ')' | ',';

export interface Token {
  readonly kind: TokenKind;
  /** As written; empty at the end. */
  readonly text: string;
}

const SIGNS: ReadonlySet<string> = new Set(['=', '!', '(', ')', ',', '>', '<'] satisfies TokenKind[]);
const BLANKS: ReadonlySet<string> = new Set([' ', '\t', '\r', '\n']);
const END: Token = { kind: 'end', text: '' };

const isSign = (char: string): char is TokenKind => SIGNS.has(char);

/**
 * Reads tokens one after the other; past the last it keeps giving `end`. Each character is looked at
 * once, at the edges of a token up to three times: the cost is linear in the text.
 *
 * Kubernetes takes a NUL for the end of the text, so that a selector beginning with one selects
 * everything. Here it is a character like any other, and the checks of keys and values refuse it.
 */
export class LabelTokens {
  readonly #text: string;
  #at = 0;
  #next: Token | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  peek(): Token {
    this.#next ??= this.#scan();
    return this.#next;
  }

  take(): Token {
    const token = this.peek();
    this.#next = undefined;
    return token;
  }

  #scan(): Token {
    const text = this.#text;
    while (this.#at < text.length && BLANKS.has(text.charAt(this.#at))) this.#at++;
    if (this.#at === text.length) return END;
    const sign = text.charAt(this.#at);
    return isSign(sign) ? this.#scanSign(sign) : this.#scanWord();
  }

  #scanSign(sign: TokenKind): Token {
    this.#at++;
    const doubled = (sign === '=' || sign === '!') && this.#text[this.#at] === '=';
    if (!doubled) return { kind: sign, text: sign };
    this.#at++;
    const kind = sign === '=' ? '==' : '!=';
    return { kind, text: kind };
  }

  #scanWord(): Token {
    const start = this.#at;
    while (this.#at < this.#text.length) {
      const char = this.#text.charAt(this.#at);
      if (SIGNS.has(char) || BLANKS.has(char)) break;
      this.#at++;
    }
    return { kind: 'word', text: this.#text.slice(start, this.#at) };
  }
}
