import { hash, randomBytes } from 'node:crypto';

const REDACTED = '<redacted>';
/** Of fixed length and never shown, nor is any digest: a plain prefix is enough of a key, and a third of HMAC's price. */
const KEY = randomBytes(32).toString('hex');

/**
 * A string that must not be seen: a token, a password. Every way by which a value slips into a log line, a
 * JSON body, a template or a stack trace yields `<redacted>`; the one way to the text says so by its name.
 */
export class Secret {
  readonly #text: string;
  #digest: string | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  /**
   * What secrets are looked up by: equal for equal texts, in this process alone. A lookup that gives up at the first
   * difference tells nothing about a text through it, and a dump of a table holds none.
   */
  digest(): string {
    this.#digest ??= hash('sha256', `${KEY}${this.#text}`, 'base64');
    return this.#digest;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [Symbol.toPrimitive](): string {
    return REDACTED;
  }

  /** `console.log`, `util.inspect` and assertion messages come here. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}
