import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../status.ts';
import { JsonSyntaxError, parseJson } from './parse-json.ts';
import {
  MAX_DEPTH,
  MAX_ELEMENTS,
  MAX_ESCAPED_LENGTH,
  MAX_KEY_LENGTH,
  MAX_KEYS,
  NumberNode,
  ObjectNode,
  toPlain,
} from './tree.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function faultOf(input: Uint8Array | string): string {
  try {
    parseJson(input);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message;
    throw error;
  }
  return 'none';
}

describe('D-02: the messages are those of encoding/json', () => {
  test.each([
    ['', 'unexpected end of JSON input'],
    [' \n', 'unexpected end of JSON input'],
    ['{bad', "invalid character 'b' looking for beginning of object key string"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"', `invalid character '"' after object key:value pair`],
    ['{"a":1', 'unexpected end of JSON input'],
    ['[1 2]', "invalid character '2' after array element"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['{} {}', "invalid character '{' after top-level value"],
    ['nul', 'unexpected end of JSON input'],
    ['nulx', "invalid character 'x' in literal null (expecting 'l')"],
    ['tRue', "invalid character 'R' in literal true (expecting 'r')"],
    ['False', "invalid character 'F' looking for beginning of value"],
    ['-', 'unexpected end of JSON input'],
    ['-a', "invalid character 'a' in numeric literal"],
    ['01', "invalid character '1' after top-level value"],
    ['1.', 'unexpected end of JSON input'],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['1e+]', "invalid character ']' in exponent of numeric literal"],
    ['+1', "invalid character '+' looking for beginning of value"],
    ['"a', 'unexpected end of JSON input'],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['"\u0001"', "invalid character '\\x01' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['"\\', 'unexpected end of JSON input'],
    ["'a'", "invalid character '\\'' looking for beginning of value"],
    ['\u00e9', "invalid character '\u00c3' looking for beginning of value"],
    ['\ufeff{}', "invalid character '\u00ef' looking for beginning of value"],
    ['\u{1f600}', "invalid character '\u00f0' looking for beginning of value"],
    ['\u00a0{}', "invalid character '\u00c2' looking for beginning of value"],
  ])('%j', (text, message) => {
    expect(faultOf(bytes(text))).toBe(message);
  });
});

describe('the tree has', () => {
  test('members in document order, duplicates and __proto__ included', () => {
    const root = parseJson('{"b":1,"__proto__":2,"b":3,"10":4,"9":5}');
    expect(root).toBeInstanceOf(ObjectNode);
    expect((root as ObjectNode).keys).toEqual(['b', '__proto__', 'b', '10', '9']);
  });

  test('the text of numbers', () => {
    const texts = ['3600.0', '1e3', '4294967297', '9223372036854775808', '-0'];
    expect(parseJson(`[${texts.join(', ')}]`)).toEqual(texts.map((text) => new NumberNode(text)));
  });

  test.each([
    ['a replacement character', bytes('"\ufffd"'), '\ufffd'],
    ['a pair', bytes('"\\ud83d\\ude00"'), '\u{1f600}'],
    ['every escape', bytes('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000"'), '"\\/\b\f\n\r\t\0'],
  ])('F-12: %s in text', (_, input, value) => {
    expect(parseJson(input)).toBe(value);
  });

  test.each<[string, Uint8Array | string, string]>([
    ['an invalid byte', Uint8Array.of(0x22, 0xff, 0x22), 'is not UTF-8'],
    ['half a pair', bytes('"a\\ud800b"'), 'half of a surrogate pair'],
    ['the halves in the wrong order', bytes('"\\ude00\\ud83d"'), 'half of a surrogate pair'],
    ['half a pair in a list', bytes('{"a":{"b":["x","\\udfff"]}}'), 'half of a surrogate pair'],
    ['half a pair in a key', bytes('{"a":{"\\ud800":1}}'), 'half of a surrogate pair'],
    ['half a pair in text that no bytes were made of', '"\ud800"', 'half of a surrogate pair'],
  ])('F-12: %s is refused', (_, input, why) => {
    expect(() => parseJson(input)).toThrow(ApiError);
    expect(() => parseJson(input)).toThrow(why);
  });

  test('plain data has no prototype to pollute', () => {
    const plain = toPlain(parseJson('{"__proto__":{"polluted":true},"constructor":1,"a":1,"a":2}'));
    expect(Object.getPrototypeOf(plain)).toBeNull();
    expect(Object.entries(plain as object)).toEqual([
      ['__proto__', expect.objectContaining({ polluted: true })],
      ['constructor', 1],
      ['a', 2],
    ]);
    expect((Object.prototype as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe('C-B: limits', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const keys = (count: number): string => `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')}}`;
  const key = (length: number): string => `{"${'k'.repeat(length)}":0}`;
  /** In two strings, which count together. */
  const escapes = (count: number): string => `["\\n","${'\\n'.repeat(count - 1)}"]`;
  const elements = (count: number): string => `[${Array(count).fill('0').join(',')}]`;

  test.each([
    ['depth', nested(MAX_DEPTH), nested(MAX_DEPTH + 1), 'nests values more than 64 levels deep'],
    ['keys', keys(MAX_KEYS), keys(MAX_KEYS + 1), 'has more than 10000 keys'],
    ['characters of a key', key(MAX_KEY_LENGTH), key(MAX_KEY_LENGTH + 1), 'has a key of more than 65536 characters'],
    [
      'escapes',
      escapes(MAX_ESCAPED_LENGTH / 2),
      escapes(MAX_ESCAPED_LENGTH / 2 + 1),
      'has more than 1048576 characters of strings with escapes',
    ],
    ['elements', elements(MAX_ELEMENTS), elements(MAX_ELEMENTS + 1), 'has more than 5000 list elements'],
  ])('%s', (_, most, tooMuch, why) => {
    expect(faultOf(most)).toBe('none');
    expect(() => parseJson(tooMuch)).toThrow(new ApiError(400, 'BadRequest', `the body of the request ${why}`));
  });

  test('keys count over all objects, also in unclosed nesting', () => {
    expect(() =>
      parseJson(
        `[${Array(MAX_KEYS + 1)
          .fill('{"a":0}')
          .join(',')}]`,
      ),
    ).toThrow(ApiError);
    expect(() => parseJson('['.repeat(100_000))).toThrow(ApiError);
    expect(() => parseJson('{"a":'.repeat(100_000))).toThrow(ApiError);
  });

  test('a number beyond a double is refused instead of becoming null', () => {
    expect(() => toPlain(parseJson('1e999'))).toThrow(
      'json: cannot unmarshal number 1e999 into Go value of type float64',
    );
  });
});

describe('against JSON.parse', () => {
  const wellFormed = (_: string, value: unknown): unknown => (typeof value === 'string' ? value.toWellFormed() : value);

  test('the same values', () => {
    fc.assert(
      fc.property(fc.json({ depthSize: 'small' }), fc.constantFrom(0, 2), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), null, indent);
        expect(JSON.stringify(toPlain(parseJson(bytes(text))))).toBe(
          JSON.stringify(JSON.parse(JSON.stringify(JSON.parse(text), wellFormed))),
        );
      }),
      { numRuns: 500 },
    );
  });

  test('A19: the same long strings, wherever their escapes and errors are', () => {
    const piece = fc.constantFrom(
      'a'.repeat(1_000),
      '\\u0041'.repeat(1_020),
      '\\n',
      '\\ud83d\\ude00',
      '\\"',
      '\u00e9',
      'b',
    );
    const fault = fc.constantFrom('', '\n', '\\x', '\\u00g0', '\\');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), fault, (pieces, wrong) => {
        const text = `"${pieces.join('')}${wrong}"`;
        if (wrong === '') expect(parseJson(bytes(text))).toBe(JSON.parse(text));
        else expect(faultOf(bytes(text))).toMatch(/^(invalid character|unexpected end)/);
      }),
      { numRuns: 300 },
    );
  });

  test('the same verdict on text that is nearly JSON', () => {
    const piece = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"', '\\', 'u00e9', 'a', '0', '1', '-', '.', 'e', ' ', '\n', '\t'],
      ...['true', 'false', 'null', '"a"', '1.5', '{"a":1}', '[]', '\u2028', '\ufeff', '\u00a0'],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        expect(faultOf(text) === 'none').toBe(valid);
      }),
      { numRuns: 5_000 },
    );
  });
});
