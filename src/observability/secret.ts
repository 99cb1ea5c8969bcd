import { hash, randomBytes } from 'node:crypto';
import { REDACTED } from '../lib/text.ts';

/**
 * Digests are never shown and the key has a fixed length, so a prefix is as good as HMAC here, at a third of its cost.
 */
const KEY = randomBytes(32).toString('hex');

/**
 * A token or a password. Every implicit conversion (to a log line, JSON, a template, a stack trace) yields
 * `<redacted>`; only `reveal` returns the text.
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
   * The key by which secrets are looked up: equal for equal texts, in this process only. The time of a lookup by it
   * reveals nothing of the text, and a dump of a table holds no secret.
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

  /** For `console.log`, `util.inspect` and assertion messages. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}
