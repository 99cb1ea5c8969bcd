import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Document, parse, type Scalar, visit } from 'yaml';
import { anyCharacter } from '../../lib/any-character.fixture.ts';
import { propertyRuns } from '../../lib/property-runs.fixture.ts';
import { compareBytes } from './go-text/go-json-text.ts';
import { toYaml } from './to-yaml.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const UNSAFE = /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]/;
const needsQuotes = (text: string): boolean => /^(?:[-+.\s]|[0-9]|<<$|=$)/.test(text) || UNSAFE.test(text);
/** What the library leaves in quotes as it is. */
const escaped = (yaml: string): string =>
  yaml.replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
const keyText = (key: unknown): string => String((key as Scalar).value);

/** The same YAML by the library, which takes seven times as long: `npm run bench -- event-loop` holds the cost. */
function byLibrary(value: unknown): string {
  const document = new Document(JSON.parse(JSON.stringify(value)), {
    version: '1.1',
    customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:merge'),
    aliasDuplicateObjects: false,
    sortMapEntries: (a, b) => compareBytes(keyText(a.key), keyText(b.key)),
  });
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && needsQuotes(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return escaped(document.toString({ indentSeq: false, lineWidth: 0 }));
}

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.stringMatching(/^[-+.:0-9a-fox_ \n#'"|>&*!%@`]{0,8}$/),
  fc.stringMatching(/^[a-zA-Z][-+.:0-9a-fox_ \n#'"|>&*!%@`/=]{0,8}$/),
  // Words and numbers that are no text in YAML 1.1.
  fc.stringMatching(/^[yYnNeEoOtTfF][eEsSoOnNrRuUlL0-9+-]{0,4}$/),
  // Marks of documents.
  fc.stringMatching(/^[-.% a\n]{0,8}$/),
  // Lines, and keys that are too long for a line.
  fc.stringMatching(/^[a\n "']{30,60}$/),
  fc.stringMatching(/^[a\n "']{1020,1030}$/),
);
const leaf = fc.oneof(
  text,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const { node } = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('node'), { maxLength: 3 }),
    fc.dictionary(text, tie('node'), { maxKeys: 3 }),
  ),
}));

test('YAML has the bytes of the library', () => {
  fc.assert(
    fc.property(node, (value) => {
      expect(toYaml(value)).toBe(byLibrary(value));
    }),
    propertyRuns(1_000, 50_000),
  );
});

test.each(['\u0085', '\u2028', '\u2029', '\ufeff', '\u007f', '\u009f', '\uffff'])(
  'YAML escapes %j, where parsers of YAML 1.1 end a line or the document',
  (character) => {
    const value = { [`k${character}--- k`]: [`a${character}\n--- b: c${character}`, character, ` ${character}`] };
    const yaml = toYaml(value);
    expect(yaml).not.toContain(character);
    expect(yaml.match(/\n/g)).toHaveLength(4);
    for (const version of ['1.1', '1.2'] as const) expect(parse(yaml, { version })).toEqual(value);
  },
);
