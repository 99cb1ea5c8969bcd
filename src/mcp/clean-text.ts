import { memberOf } from '../lib/json-object.ts';
import { withoutTokenWords } from '../observability/token-text.ts';

/** MC-79: labels, reasons and messages are written by others. What a model reads of them is short, plain text. */
const MAX_TEXT = 256;

/** Control and format characters, line separators: they hide text from people or look like a new paragraph. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** One line of plain text, without words that look like a token. */
export const cleanText = (text: string, limit = MAX_TEXT): string =>
  cut(withoutTokenWords(oneLine(text.slice(0, 4 * limit))), limit);

/** One line of plain text that may hold long words: an address, an issuer. */
export const cleanAddress = (text: string): string => cut(oneLine(text.slice(0, MAX_ADDRESS)), MAX_ADDRESS);

const MAX_ADDRESS = 1_024;

const oneLine = (text: string): string => text.toWellFormed().replace(INVISIBLE, ' ').trim();

const cut = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit - 1).toWellFormed()}…`;

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

/** An object without the members that are undefined. */
export const defined = <T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
