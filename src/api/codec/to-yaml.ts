import { Document } from 'yaml';
import { stringifyString } from 'yaml/util';
import type { JsonValue } from '../../lib/json.ts';
import { sortByBytes } from './go-text/go-json-text.ts';

/**
 * YAML as kubectl and kube-apiserver write it: keys sorted, lists not indented under their key. Strings that a parser
 * of YAML 1.1 or 1.2 could read as another type are quoted.
 */
export const toYaml = (value: unknown): string => yamlOf(JSON.stringify(value));

/**
 * The same content. The library writes a tenth as fast: it makes several objects of each part of a value. `indent`: of
 * the lines after the first one.
 */
export function yamlOf(json: Uint8Array | string, indent = ''): string {
  const text = typeof json === 'string' ? json : Buffer.from(json.buffer, json.byteOffset, json.length).toString();
  return `${node(JSON.parse(text), indent)}\n`;
}

function node(value: JsonValue, indent: string): string {
  if (typeof value === 'string') return scalar(value, indent, false);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const lines = Array.isArray(value)
    ? value.map((item) => `- ${node(item, `${indent}  `)}`)
    : sortByBytes(Object.keys(value)).map((key) => pair(key, value[key] ?? null, indent));
  return lines.length > 0 ? lines.join(`\n${indent}`) : Array.isArray(value) ? '[]' : '{}';
}

/** A longer key has to be marked as one. */
const MAX_IMPLICIT_KEY = 1_024;

function pair(key: string, value: JsonValue, indent: string): string {
  const inner = `${indent}  `;
  const written = scalar(key, inner, true);
  if (written.length > MAX_IMPLICIT_KEY) return `? ${written}\n${indent}: ${node(value, inner)}`;
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    return `${written}: ${node(value, inner)}`;
  }
  const below = Array.isArray(value) ? indent : inner;
  return `${written}:\n${below}${node(value, below)}`;
}

/** Most texts. Words of YAML 1.1 for other types, and numbers without digits before the exponent, are not plain. */
const PLAIN = /^(?!(?:y|n|yes|no|on|off|true|false|null|e[-+]?[0-9]+)$)[a-z](?:[\w./@+=,;()'"!?<>-]|:[\w/]| [\w(])*$/i;
/** Most of the others: times, addresses and versions, of characters that need no escape. */
const QUOTED = /^[-+.0-9][ !#-[\]-~]*$/;

function scalar(text: string, indent: string, implicitKey: boolean): string {
  if (PLAIN.test(text)) return text;
  if (QUOTED.test(text)) return `"${text}"`;
  const type = needsQuotes(text) ? ('QUOTE_DOUBLE' as const) : undefined;
  // The rules for the rest are the library's.
  const written = stringifyString({ value: text, ...(type && { type }) }, { ...CONTEXT, indent, implicitKey });
  return written.replace(UNREADABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const { schema } = new Document(null, {
  // Parsers of 1.1 read `yes`, `on` and `1:30` as other types; with this version the library quotes them.
  version: '1.1',
  // Without this tag, which is part of 1.1, the string `<<` is not written as a merge key.
  customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:merge'),
});

/** What the library knows while it writes a string; the options are its defaults, but that no line is folded. */
const CONTEXT = {
  doc: { schema },
  actualString: true,
  inFlow: null,
  indentStep: '  ',
  options: { blockQuote: true, defaultStringType: 'PLAIN', doubleQuotedMinMultiLineLength: 40, lineWidth: 0 },
} as unknown as Parameters<typeof stringifyString>[1];

/**
 * What the rules of 1.1 do not quote: strings that start like a number (`0o17` is one only in 1.2), that contain
 * characters which some parsers fold or strip, or that start with white space, of which a block scalar loses some.
 */
function needsQuotes(text: string): boolean {
  return /^(?:[-+.\s]|[0-9]|<<$|=$)/.test(text) || UNSAFE.test(text);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const UNSAFE = /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]/;

/**
 * Those that the library leaves as they are within quotes, too. A parser of YAML 1.1 ends a line at some of them, and
 * refuses a document with one of the others.
 */
const UNREADABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
