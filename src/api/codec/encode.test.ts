import fc from 'fast-check';
import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../../lib/any-character.fixture.ts';
import { encodeValue, toJson } from './encode.ts';
import { compareBytes, sortByBytes } from './go-text/go-json-text.ts';
import { bodySchema } from './shape.ts';
import { toYaml } from './to-yaml.ts';

const { shape } = bodySchema(
  Type.Object({
    kind: Type.Optional(Type.String()),
    apiVersion: Type.Optional(Type.String()),
    spec: Type.Optional(
      Type.Object({
        zeta: Type.Optional(Type.Integer()),
        labels: Type.Optional(Type.Record(Type.String(), Type.String())),
        list: Type.Optional(
          Type.Array(Type.Object({ b: Type.Optional(Type.String()), a: Type.Optional(Type.String()) })),
        ),
        anything: Type.Optional(Type.Unknown()),
      }),
    ),
  }),
);

describe('order', () => {
  const value = {
    spec: {
      list: [{ a: '1', b: '2' }],
      labels: { b: 'x', '10': 'y', '9': 'z' },
      anything: { z: 1, y: [{ d: 1, c: 2 }] },
      zeta: 0,
    },
    apiVersion: 'v1',
    kind: 'K',
  };

  test('builtin: fields as the schema lists them, maps sorted', () => {
    expect(encodeValue(value, shape, 'builtin')).toBe(
      '{"kind":"K","apiVersion":"v1","spec":{"zeta":0,"labels":{"10":"y","9":"z","b":"x"},' +
        '"list":[{"b":"2","a":"1"}],"anything":{"y":[{"c":2,"d":1}],"z":1}}}',
    );
  });

  test('L-11: custom: every key sorted', () => {
    expect(encodeValue(value, shape, 'custom')).toBe(
      '{"apiVersion":"v1","kind":"K","spec":{"anything":{"y":[{"c":2,"d":1}],"z":1},' +
        '"labels":{"10":"y","9":"z","b":"x"},"list":[{"a":"1","b":"2"}],"zeta":0}}',
    );
  });

  test('by bytes of UTF-8, not by units of UTF-16', () => {
    const keys = ['\uffff', '\u{10000}', 'a', '', 'aa', 'Z', '\u00e9', '\ue000'];
    const byBytes = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(keys.toSorted(compareBytes)).toEqual(byBytes);
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.string({ unit: anyCharacter }), (a, b) => {
        const expected = Buffer.compare(Buffer.from(a.toWellFormed()), Buffer.from(b.toWellFormed()));
        expect(Math.sign(compareBytes(a.toWellFormed(), b.toWellFormed()))).toBe(expected);
      }),
    );
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', '\u00e9', '\ue000', '\uffff', '\u{10000}'),
      maxLength: 3,
    });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 60, size: 'max' }), (texts) => {
        const sorted = texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        expect(sortByBytes([...texts])).toEqual(sorted);
      }),
    );
  });
});

describe('custom resources', () => {
  /** The reference: sorts the keys of every object. */
  const plain = (value: unknown): string => {
    if (typeof value !== 'object' || value === null) return toJson(value);
    if (Array.isArray(value)) return `[${value.map(plain).join(',')}]`;
    const keys = Object.keys(value).toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    return `{${keys.map((key) => `${toJson(key)}:${plain((value as Record<string, unknown>)[key])}`).join(',')}}`;
  };

  test('have sorted keys at every depth, whatever the keys are', () => {
    const key = fc.oneof(
      fc.string(),
      fc.constantFrom('__proto__', '10', '9', '0a', 'constructor', 'toJSON', '\uffff', '\u{10000}'),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, fc.string(), fc.integer(), fc.constant(null), tie('list'), tie('map')),
      list: fc.array(tie('value'), { maxLength: 4 }),
      map: fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((members) => Object.fromEntries(members)),
    }));
    fc.assert(
      fc.property(value, (any) => {
        expect(encodeValue(any, undefined, 'custom')).toBe(plain(any));
      }),
    );
  });
});

describe('F-12: escapes', () => {
  test.each([
    ['<a href="x">&', '"\\u003ca href=\\"x\\"\\u003e\\u0026"'],
    ['\u2028\u2029', '"\\u2028\\u2029"'],
    ['\ud800', '"\\ufffd"'],
    ['\\ud800', '"\\\\ud800"'],
    ['\\\ud800', '"\\\\\\ufffd"'],
    ['\ufffd', '"\ufffd"'],
    ['\u{1f600}\u00e9', '"\u{1f600}\u00e9"'],
    ['\b\f\n\r\t\u0001\u007f', '"\\b\\f\\n\\r\\t\\u0001\u007f"'],
    ['/', '"/"'],
  ])('%j', (text, json) => {
    expect(toJson(text)).toBe(json);
    expect(encodeValue(text, undefined, 'custom')).toBe(json);
    expect(encodeValue({ [text]: 1 }, undefined, 'custom')).toBe(`{${json}:1}`);
  });

  test('the result parses to the input', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        expect(JSON.parse(toJson(text))).toBe(text.toWellFormed());
      }),
    );
  });
});

describe('F-13: forms', () => {
  const value = { b: [1, { c: '<' }], a: {}, d: [] };

  test('compact JSON ends without a newline', () => {
    expect(toJson(value)).toBe('{"b":[1,{"c":"\\u003c"}],"a":{},"d":[]}');
  });

  test('YAML has sorted keys and lists at the level of their key', () => {
    expect(toYaml({ kind: 'K', apiVersion: 'v1', items: [{ b: 1, a: 'x' }], none: null, empty: {} })).toBe(
      'apiVersion: v1\nempty: {}\nitems:\n- a: x\n  b: 1\nkind: K\nnone: null\n',
    );
  });
});
