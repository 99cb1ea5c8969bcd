import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asJsonObject, cloneJson, equalJson, isJsonObject, type JsonValue, memberOf } from './json.ts';

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>;

describe('a value of JSON', () => {
  it('an object is neither a list nor null', () => {
    expect([{}, [], null, 'a', 1, undefined].map(isJsonObject)).toEqual([true, false, false, false, false, false]);
    expect([{ a: 1 }, [1], 'a', undefined].map(asJsonObject)).toEqual([{ a: 1 }, {}, {}, {}]);
  });

  it('has the members of its own at a path, and inherits none', () => {
    const value = { a: { b: { c: 1 } }, list: ['x'], text: 'abc' };
    expect(memberOf(value, 'a', 'b', 'c')).toBe(1);
    expect(memberOf(value)).toBe(value);
    for (const path of [['a', 'x', 'c'], ['constructor'], ['__proto__'], ['list', 'length'], ['text', 'length']]) {
      expect(memberOf(value, ...path)).toBeUndefined();
    }
    expect(memberOf(JSON.parse('{"__proto__":{"a":1}}'), '__proto__', 'a')).toBe(1);
  });

  it('a copy is equal, shares nothing, and has no prototype', () => {
    fc.assert(
      fc.property(json, (value) => {
        const copy = cloneJson(value);
        expect(equalJson(copy, value)).toBe(true);
        expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
        if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value);
      }),
    );
    const copy = cloneJson(JSON.parse('{"__proto__":{"polluted":true}}')) as object;
    expect(Object.keys(copy)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(copy)).toBeNull();
  });

  it('a copy is metered with bytes and depth', () => {
    const seen: number[][] = [];
    cloneJson({ a: ['bc', 1] }, (bytes, depth) => seen.push([bytes, depth]));
    expect(seen).toEqual([
      [2, 1],
      [4, 0],
      [2, 2],
      [4, 2],
      [4, 2],
    ]);
  });
});
