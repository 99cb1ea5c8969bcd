import { Document, type Scalar, visit } from 'yaml';
import { compareBytes } from './go-text/go-json-text.ts';

/**
 * YAML as kubectl and kube-apiserver write it: keys sorted, lists not indented under their key. Text that
 * some reader of YAML 1.1 or 1.2 could take for something else is quoted.
 */
export function toYaml(value: unknown): string {
  // A copy through JSON drops what JSON drops, and gives both formats the same content.
  const document = new Document(JSON.parse(JSON.stringify(value)), {
    // The readers of 1.1 take `yes`, `on` or `1:30` for more than text: its rules quote them.
    version: '1.1',
    // Of 1.1, too, but it would write the text `<<` as the instruction to merge.
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
 * Beyond what the rules of 1.1 already quote: whatever starts like a number (`0o17` is one only in 1.2),
 * text with characters that some reader folds or strips, and text that starts with white space, of which
 * a block of lines loses some.
 */
function needsQuotes(text: string): boolean {
  return /^(?:[-+.\s]|[0-9]|<<$|=$)/.test(text) || UNSAFE.test(text);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const UNSAFE = /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]/;
