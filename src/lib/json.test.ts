import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cloneJson, equalJson, type JsonValue } from './json.ts';

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>;

describe('a value of JSON', () => {
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
