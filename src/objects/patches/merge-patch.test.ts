import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../lib/json.ts';
import { applyMergePatch } from './merge-patch.ts';

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>;
const text = (value: JsonValue): string => JSON.stringify(value);
describe('applyMergePatch', () => {
  it.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])('RFC 7386 appendix A: %s with %s', (target, patch, result) => {
    expect(text(applyMergePatch(JSON.parse(target), JSON.parse(patch)))).toBe(result);
  });

  it('keeps the order of existing members and appends new ones', () => {
    const merged = applyMergePatch({ a: 1, b: { x: 1, y: 2 }, c: 3 }, { d: 4, b: { z: 3, x: 9 }, a: null });
    expect(text(merged)).toBe('{"b":{"x":9,"y":2,"z":3},"c":3,"d":4}');
  });

  it('__proto__ and constructor are members like any other', () => {
    const target = JSON.parse('{"__proto__":{"keep":1},"x":{}}') as JsonValue;
    const patch = JSON.parse(
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"x":{"toString":null}}',
    ) as JsonValue;
    expect(text(applyMergePatch(target, patch))).toBe(
      '{"__proto__":{"keep":1,"polluted":true},"x":{},"constructor":{"prototype":{"polluted":true}}}',
    );
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('applying twice is applying once', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = applyMergePatch(target, patch);
        expect(text(applyMergePatch(once, patch))).toBe(text(once));
      }),
    );
  });
});
