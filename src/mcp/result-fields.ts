import { memberOf } from '../lib/json.ts';
import { cleanText, clip, oneLine } from '../lib/text.ts';

/** MC-79: labels, reasons and messages are written by others. What a model reads of them is short, plain text. */

/** One line of plain text that may hold long words: an address, an issuer. */
export const cleanAddress = (text: string): string => clip(oneLine(text.slice(0, 4 * MAX_ADDRESS)), MAX_ADDRESS);

const MAX_ADDRESS = 1_024;

/** The text of a field that may hold anything; undefined for none. */
export function textField(value: unknown, clean: (text: string) => string = cleanText): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const text = clean(value);
  return text === '' ? undefined : text;
}

const CURSOR = /^[\w.~+/=-]+$/;

/** The cursor of the next page. It is shown as it is, so it must not be a text. */
export function cursorOf(metadata: unknown): string | undefined {
  const cursor = memberOf(metadata, 'continue');
  return typeof cursor === 'string' && CURSOR.test(cursor) ? cursor : undefined;
}
