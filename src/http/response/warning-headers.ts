import { hasControl, truncateRunes } from '../../lib/text.ts';

/** The budget of kube-apiserver (W-04), in characters of text. */
const TOTAL_BUDGET = 4096;
const TRUNCATED_TEXT = 256;

/**
 * Collects the `Warning` headers of one answer. Their texts repeat what callers sent (field names, values), so a text
 * that could break out of a header is dropped, and their number and size are bounded.
 */
export class Warnings {
  #texts: string[] = [];
  #headers: string[] = [];
  #written = 0;
  #truncating = false;

  add(text: string): void {
    if (text === '' || (this.#truncating && this.#written >= TOTAL_BUDGET)) return;
    if (this.#texts.includes(text)) return;
    this.#texts.push(text);
    if (!this.#truncating && this.#written + runesIn(text) > TOTAL_BUDGET) {
      // W-04: from here on every text is cut, those already accepted too, and the sum starts again.
      this.#truncating = true;
      this.#headers = [];
      this.#written = 0;
      for (const earlier of this.#texts) this.#write(truncateRunes(earlier, TRUNCATED_TEXT));
      return;
    }
    this.#write(this.#truncating ? truncateRunes(text, TRUNCATED_TEXT) : text);
  }

  get texts(): readonly string[] {
    return this.#texts;
  }

  /** Values for `Warning` header lines, in order, safe to hand to Node. */
  get headers(): readonly string[] {
    return this.#headers;
  }

  #write(text: string): void {
    if (hasControl(text) || !text.isWellFormed()) return;
    const quoted = text.replace(/["\\]/g, '\\$&');
    // Node accepts only Latin-1 in a header. Each byte of the UTF-8 text becomes one such character.
    this.#headers.push(`299 - "${Buffer.from(quoted, 'utf8').toString('latin1')}"`);
    this.#written += runesIn(text);
  }
}

function runesIn(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
