import { isJsonObject, type JsonValue, memberOf } from '../../lib/json.ts';

/** The reference tokens of an RFC 6901 pointer, unescaped; none for the whole document. */
export type JsonPointer = readonly string[];

const BAD_ESCAPE = /~(?![01])/;
/** RFC 6901 section 4: no sign, no leading zero. */
const ARRAY_INDEX = /^(?:0|[1-9][0-9]{0,9})$/;

/** Undefined when the text is not a pointer. */
export function parseJsonPointer(text: string): JsonPointer | undefined {
  if (text === '') return [];
  if (!text.startsWith('/') || BAD_ESCAPE.test(text)) return undefined;
  const tokens = text.slice(1).split('/');
  // In one pass, so that `~01` does not become a slash (RFC 6901 section 4).
  return text.includes('~')
    ? tokens.map((token) => token.replace(/~[01]/g, (found) => (found === '~1' ? '/' : '~')))
    : tokens;
}

/** An array index from 0 to `limit`; undefined for any other token. */
export function arrayIndex(token: string, limit: number): number | undefined {
  if (!ARRAY_INDEX.test(token)) return undefined;
  const index = Number(token);
  return index <= limit ? index : undefined;
}

/** The own member or existing item of this name. */
function getChild(container: JsonValue, token: string): JsonValue | undefined {
  if (Array.isArray(container)) {
    const index = arrayIndex(token, container.length - 1);
    return index === undefined ? undefined : container[index];
  }
  return isJsonObject(container) ? memberOf(container, token) : undefined;
}

/** The value at the pointer; undefined when there is none. */
export function resolve(document: JsonValue, pointer: JsonPointer): JsonValue | undefined {
  let value: JsonValue | undefined = document;
  for (const token of pointer) {
    if (value === undefined) return undefined;
    value = getChild(value, token);
  }
  return value;
}
