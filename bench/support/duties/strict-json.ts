import { isUtf8 } from 'node:buffer';
import { Refusal } from './response.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Duty: a body that other parsers would read differently is refused. */
export function parseStrictly(body: Buffer): unknown {
  if (!isUtf8(body)) throw new Refusal(400, 'the body is not UTF-8');
  const text = body.toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'the body is not JSON');
  }
  // A text that JSON.stringify gives back has no duplicate key. This is the usual text of a client, and cheaper than
  // the scan that all other texts need.
  if (JSON.stringify(value) !== text && hasDuplicateKey(text)) throw new Refusal(400, 'a key occurs twice');
  return value;
}

const PUNCTUATION_OR_STRING = /"(?:[^"\\]|\\.)*"|[{}[\]:]/g;

/** Of a text that is JSON. */
function hasDuplicateKey(text: string): boolean {
  const open: Set<string>[] = [];
  let last = '';
  for (const [part] of text.matchAll(PUNCTUATION_OR_STRING)) {
    if (part === '{' || part === '[') open.push(new Set());
    else if (part === '}' || part === ']') open.pop();
    else if (part === ':') {
      const key = JSON.parse(last) as string;
      if (open.at(-1)?.has(key) === true) return true;
      open.at(-1)?.add(key);
    }
    last = part;
  }
  return false;
}

/** The value as an object with no other fields than these. */
export function fieldsOf(value: unknown, known: ReadonlySet<string>): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Refusal(400, 'not an object');
  for (const key of Object.keys(value)) if (!known.has(key)) throw new Refusal(400, `unknown field ${key}`);
  return value as Fields;
}

/** A text that may be absent. */
export function textOf(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') throw new Refusal(400, 'not a string');
  return value;
}

/** A list that may be absent. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Refusal(400, 'not a list');
  return value;
}
