import { Document, type Scalar, visit } from 'yaml';
import { compareBytes } from './go-text/go-json-text.ts';

/**
 * YAML as kubectl and kube-apiserver write it: keys sorted, lists not indented under their key. Strings that a parser
 * of YAML 1.1 or 1.2 could read as another type are quoted.
 */
export function toYaml(value: unknown): string {
  // A copy through JSON gives both formats the same content.
  const document = new Document(JSON.parse(JSON.stringify(value)), {
    // Parsers of 1.1 read `yes`, `on` and `1:30` as other types; with this version the library quotes them.
    version: '1.1',
    // Without this tag, which is part of 1.1, the string `<<` is not written as a merge key.
    customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:merge'),
    aliasDuplicateObjects: false,
    sortMapEntries: (a, b) => compareBytes(keyText(a.key), keyText(b.key)),
  });
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && needsQuotes(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ indentSeq: false, lineWidth: 0 });
}

const keyText = (key: unknown): string => String((key as Scalar).value);

/**
 * What the rules of 1.1 do not quote: strings that start like a number (`0o17` is one only in 1.2), that contain
 * characters which some parsers fold or strip, or that start with white space, of which a block scalar loses some.
 */
function needsQuotes(text: string): boolean {
  return /^(?:[-+.\s]|[0-9]|<<$|=$)/.test(text) || UNSAFE.test(text);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const UNSAFE = /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]/;
