const REDACTED = '<redacted>';

/**
 * A string that must not be seen: a token, a password. Every way by which a value slips into a log line, a
 * JSON body, a template or a stack trace yields `<redacted>`; the one way to the text says so by its name.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
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
