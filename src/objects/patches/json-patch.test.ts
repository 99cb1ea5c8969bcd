import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../api/status.ts';
import type { JsonValue } from '../../lib/json.ts';
import { propertyRuns } from '../../lib/property-runs.fixture.ts';
import { applyJsonPatch, MAX_JSON_PATCH_OPERATIONS } from './json-patch.ts';

const text = (value: JsonValue): string => JSON.stringify(value);
const apply = (document: string, patch: string): string =>
  text(applyJsonPatch(JSON.parse(document), JSON.parse(patch)));

function refusal(document: JsonValue, patch: unknown): ApiError['status'] {
  try {
    applyJsonPatch(document, patch);
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
  throw new Error('the patch was applied');
}

const DOES_NOT_APPLY = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'the server rejected our request due to an error in our request',
  reason: 'Invalid',
  details: {},
  code: 422,
};

describe('RFC 6902 appendix A', () => {
  it.each([
    ['A.1 add a member', '{"foo":"bar"}', '[{"op":"add","path":"/baz","value":"qux"}]', '{"foo":"bar","baz":"qux"}'],
    [
      'A.2 add an item',
      '{"foo":["bar","baz"]}',
      '[{"op":"add","path":"/foo/1","value":"qux"}]',
      '{"foo":["bar","qux","baz"]}',
    ],
    ['A.3 remove a member', '{"baz":"qux","foo":"bar"}', '[{"op":"remove","path":"/baz"}]', '{"foo":"bar"}'],
    ['A.4 remove an item', '{"foo":["bar","qux","baz"]}', '[{"op":"remove","path":"/foo/1"}]', '{"foo":["bar","baz"]}'],
    [
      'A.5 replace',
      '{"baz":"qux","foo":"bar"}',
      '[{"op":"replace","path":"/baz","value":"boo"}]',
      '{"baz":"boo","foo":"bar"}',
    ],
    [
      'A.6 move a value',
      '{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}',
      '[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]',
      '{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}',
    ],
    [
      'A.7 move an item',
      '{"foo":["all","grass","cows","eat"]}',
      '[{"op":"move","from":"/foo/1","path":"/foo/3"}]',
      '{"foo":["all","cows","eat","grass"]}',
    ],
    [
      'A.8 test',
      '{"baz":"qux","foo":["a",2,"c"]}',
      '[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]',
      '{"baz":"qux","foo":["a",2,"c"]}',
    ],
    [
      'A.10 add an object',
      '{"foo":"bar"}',
      '[{"op":"add","path":"/child","value":{"grandchild":{}}}]',
      '{"foo":"bar","child":{"grandchild":{}}}',
    ],
    [
      'A.11 ignore unknown members',
      '{"foo":"bar"}',
      '[{"op":"add","path":"/baz","value":"qux","xyz":123}]',
      '{"foo":"bar","baz":"qux"}',
    ],
    ['A.14 escapes', '{"/":9,"~1":10}', '[{"op":"test","path":"/~01","value":10}]', '{"/":9,"~1":10}'],
    [
      'A.16 append',
      '{"foo":["bar"]}',
      '[{"op":"add","path":"/foo/-","value":["abc","def"]}]',
      '{"foo":["bar",["abc","def"]]}',
    ],
  ])('%s', (_, document, patch, result) => {
    expect(apply(document, patch)).toBe(result);
  });

  it.each([
    ['A.9 test fails', '{"baz":"qux"}', '[{"op":"test","path":"/baz","value":"bar"}]'],
    ['A.12 add to a missing target', '{"foo":"bar"}', '[{"op":"add","path":"/baz/bat","value":"qux"}]'],
    ['A.15 string and number differ', '{"/":9,"~1":10}', '[{"op":"test","path":"/~01","value":"10"}]'],
  ])('%s', (_, document, patch) => {
    expect(refusal(JSON.parse(document), JSON.parse(patch))).toEqual(DOES_NOT_APPLY);
  });
});

describe('operations', () => {
  it.each([
    ['add replaces a member', '{"a":1}', '[{"op":"add","path":"/a","value":2}]', '{"a":2}'],
    ['add at the end by index', '[1]', '[{"op":"add","path":"/1","value":2}]', '[1,2]'],
    ['add replaces the document', '{"a":1}', '[{"op":"add","path":"","value":[]}]', '[]'],
    ['replace the document', '{"a":1}', '[{"op":"replace","path":"","value":{"b":2}}]', '{"b":2}'],
    ['replace a missing member, as in Kubernetes', '{}', '[{"op":"replace","path":"/a","value":1}]', '{"a":1}'],
    ['replace an item', '[1,2]', '[{"op":"replace","path":"/0","value":null}]', '[null,2]'],
    ['replace keeps the order', '{"a":1,"b":2}', '[{"op":"replace","path":"/a","value":3}]', '{"a":3,"b":2}'],
    ['a member called -', '{"-":1}', '[{"op":"replace","path":"/-","value":2}]', '{"-":2}'],
    ['a member called nothing', '{"":1}', '[{"op":"add","path":"/","value":2}]', '{"":2}'],
    ['members that look like indexes', '{"a":{"01":1}}', '[{"op":"remove","path":"/a/01"}]', '{"a":{}}'],
    [
      'copy',
      '{"a":{"x":1}}',
      '[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/x","value":2}]',
      '{"a":{"x":1},"b":{"x":2}}',
    ],
    ['copy the document into itself', '{"a":1}', '[{"op":"copy","from":"","path":"/b"}]', '{"a":1,"b":{"a":1}}'],
    ['move onto itself', '{"a":[1,2]}', '[{"op":"move","from":"/a/0","path":"/a/0"}]', '{"a":[1,2]}'],
    ['move the document onto itself', '{"a":1}', '[{"op":"move","from":"","path":""}]', '{"a":1}'],
    ['move over the document', '{"a":{"b":1}}', '[{"op":"move","from":"/a","path":""}]', '{"b":1}'],
    [
      'test ignores the order of members',
      '{"a":{"x":1,"y":[]}}',
      '[{"op":"test","path":"/a","value":{"y":[],"x":1}}]',
      '{"a":{"x":1,"y":[]}}',
    ],
    ['test a null', '{"a":null}', '[{"op":"test","path":"/a","value":null}]', '{"a":null}'],
    ['test a missing member for null', '{"a":1}', '[{"op":"test","path":"/b","value":null}]', '{"a":1}'],
    ['test the document', '[1]', '[{"op":"test","path":"","value":[1]}]', '[1]'],
    ['no operations', '{"a":1}', '[]', '{"a":1}'],
  ])('%s', (_, document, patch, result) => {
    expect(apply(document, patch)).toBe(result);
  });

  it.each([
    ['remove a missing member', '{}', '[{"op":"remove","path":"/a"}]'],
    ['remove the document', '{}', '[{"op":"remove","path":""}]'],
    ['remove past the end', '[1]', '[{"op":"remove","path":"/1"}]'],
    ['remove the item after the last', '[1]', '[{"op":"remove","path":"/-"}]'],
    ['replace a member of a missing object', '{}', '[{"op":"replace","path":"/a/b","value":1}]'],
    ['replace the item after the last', '[1]', '[{"op":"replace","path":"/-","value":1}]'],
    ['add past the end', '[1]', '[{"op":"add","path":"/2","value":1}]'],
    ['an index with a leading zero', '[1,2]', '[{"op":"add","path":"/01","value":1}]'],
    ['a negative index', '[1,2]', '[{"op":"remove","path":"/-1"}]'],
    ['an index with a sign', '[1,2]', '[{"op":"remove","path":"/+1"}]'],
    ['an index in another notation', '[1,2]', '[{"op":"remove","path":"/1e0"}]'],
    ['the length of an array', '[1,2]', '[{"op":"test","path":"/length","value":2}]'],
    ['a step into a string', '{"a":"b"}', '[{"op":"add","path":"/a/0","value":1}]'],
    ['a step into null', '{"a":null}', '[{"op":"add","path":"/a/b","value":1}]'],
    ['copy from nowhere', '{}', '[{"op":"copy","from":"/a","path":"/b"}]'],
    ['move from nowhere', '{}', '[{"op":"move","from":"/a","path":"/b"}]'],
    ['move into itself', '{"a":{"b":{}}}', '[{"op":"move","from":"/a","path":"/a/b/c"}]'],
    ['move the document into itself', '{"a":1}', '[{"op":"move","from":"","path":"/a"}]'],
    ['test a missing parent for null', '{}', '[{"op":"test","path":"/a/b","value":null}]'],
    ['test a missing item for null', '[]', '[{"op":"test","path":"/0","value":null}]'],
    ['test arrays of different length', '{"a":[1]}', '[{"op":"test","path":"/a","value":[1,2]}]'],
    ['test an array for an object', '{"a":[]}', '[{"op":"test","path":"/a","value":{}}]'],
    ['test objects of different members', '{"a":{"x":1}}', '[{"op":"test","path":"/a","value":{"y":1}}]'],
  ])('does not apply: %s', (_, document, patch) => {
    expect(refusal(JSON.parse(document), JSON.parse(patch))).toEqual(DOES_NOT_APPLY);
  });

  it.each([
    ['not an array', { op: 'add' }, 'a JSON patch is an array of operations'],
    ['null', null, 'a JSON patch is an array of operations'],
    ['an operation that is no object', [1], 'operation 0: must be an object'],
    ['an operation that is an array', [[]], 'operation 0: must be an object'],
    ['no op', [{ path: '' }], 'operation 0: "op" must be a string'],
    ['an unknown op', [{ op: 'spam', path: '' }], 'operation 0: unknown "op" "spam"'],
    ['an inherited op', [{ op: 'constructor', path: '' }], 'operation 0: unknown "op" "constructor"'],
    ['no path', [{ op: 'remove' }], 'operation 0: "path" must be a string'],
    ['a path that is no pointer', [{ op: 'remove', path: 'a' }], 'operation 0: "path" is not a JSON pointer: "a"'],
    ['a bad escape', [{ op: 'remove', path: '/~2' }], 'operation 0: "path" is not a JSON pointer: "/~2"'],
    [
      'a path of a megabyte',
      [{ op: 'remove', path: '/a'.repeat(500_000) }],
      'operation 0: "path" must be no more than 65536 characters',
    ],
    ['an open escape', [{ op: 'remove', path: '/a~' }], 'operation 0: "path" is not a JSON pointer: "/a~"'],
    ['no value', [{ op: 'add', path: '/a' }], 'operation 0: "value" is missing'],
    ['no from', [{ op: 'move', path: '/a' }], 'operation 0: "from" must be a string'],
    [
      'the second of two',
      [
        { op: 'remove', path: '/a' },
        { op: 'copy', path: '/a', from: 1 },
      ],
      'operation 1: "from" must be a string',
    ],
  ])('is malformed: %s', (_, patch, why) => {
    expect(refusal({}, patch)).toMatchObject({
      code: 400,
      reason: 'BadRequest',
      message: `error decoding patch: ${why}`,
    });
  });
});

describe('arguments', () => {
  it.each(['add', 'replace'])('%s takes a copy of its value, which later operations may change', (op) => {
    const document = { a: { list: [0] } };
    const patch = [
      { op, path: '/a', value: { list: [1] } },
      { op: 'add', path: '/a/list/-', value: 2 },
    ];
    const before = JSON.stringify([document, patch]);
    const patched = applyJsonPatch(document, patch) as { a: { list: number[] } };
    expect(patched.a.list).toEqual([1, 2]);
    patched.a.list.push(3);
    expect(JSON.stringify([document, patch])).toBe(before);
  });
});

describe('prototypes', () => {
  it.each([
    ['/__proto__/polluted', 422],
    ['/constructor/prototype/polluted', 422],
    ['/a/__proto__/polluted', 422],
    ['/list/__proto__/polluted', 422],
    ['/list/constructor/prototype/polluted', 422],
  ])('%s leads nowhere', (path, code) => {
    expect(refusal({ a: {}, list: [] }, [{ op: 'add', path, value: true }]).code).toBe(code);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('__proto__ is a member like any other', () => {
    expect(
      apply(
        '{"a":1}',
        '[{"op":"add","path":"/__proto__","value":{"x":1}},{"op":"test","path":"/__proto__/x","value":1}]',
      ),
    ).toBe('{"a":1,"__proto__":{"x":1}}');
    expect(apply('{"__proto__":{"x":1}}', '[{"op":"move","from":"/__proto__","path":"/y"}]')).toBe('{"y":{"x":1}}');
    expect(
      apply('{}', '[{"op":"add","path":"/a","value":{"__proto__":1}},{"op":"copy","from":"/a","path":"/b"}]'),
    ).toBe('{"a":{"__proto__":1},"b":{"__proto__":1}}');
  });

  it('takes the fields of an operation from itself only', () => {
    const inherited = Object.create({ op: 'remove', path: '/a' }) as object;
    expect(refusal({ a: 1 }, [inherited]).code).toBe(400);
  });
});

describe('limits', () => {
  it('10,000 operations', () => {
    const operation = { op: 'test', path: '/a', value: 1 };
    const most = new Array(MAX_JSON_PATCH_OPERATIONS).fill(operation);
    expect(text(applyJsonPatch({ a: 1 }, most))).toBe('{"a":1}');
    expect(refusal({ a: 1 }, [...most, operation])).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
      reason: 'RequestEntityTooLarge',
      code: 413,
    });
  });

  it('copies that double stop at 256 KiB', () => {
    const document = { a: ['x'.repeat(1024)] };
    const doubling = new Array(30).fill({ op: 'copy', from: '/a', path: '/a/-' });
    expect(refusal(document, doubling)).toMatchObject({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: the copy operations of a JSON patch may copy 262144 bytes in all',
    });
  });

  it('empty objects count for more than their two bytes', () => {
    const document = { a: Array.from({ length: 1_000 }, () => ({})), b: [] };
    const copies = (count: number) => new Array(count).fill({ op: 'copy', from: '/a', path: '/b/-' });
    expect(() => applyJsonPatch(document, copies(16))).not.toThrow();
    expect(refusal(document, copies(17)).code).toBe(413);
  });

  it('changes at the start of a long array are limited', () => {
    const document = { list: new Array(100_000).fill(0) as number[] };
    const front = [
      { op: 'add', path: '/list/0', value: 1 },
      { op: 'remove', path: '/list/0' },
    ];
    expect(() => applyJsonPatch(document, front)).not.toThrow();
    const patch = Array.from({ length: 200 }, (_, index) => front[index % 2]);
    expect(refusal(document, patch)).toMatchObject({ code: 413, message: expect.stringContaining('array items') });
  });
});

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
const pointer = fc
  .array(fc.constantFrom('a', 'b', '0', '1', '-', '', '~0', '~1', '__proto__', 'length'), { maxLength: 3 })
  .map((tokens) => tokens.map((token) => `/${token}`).join(''));
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path: pointer, value: json }),
  fc.record({ op: fc.constantFrom('move', 'copy'), path: pointer, from: pointer }),
  fc.record({ op: fc.constant('remove'), path: pointer }),
);
const document = fc.dictionary(
  fc.constantFrom('a', 'b', '', '0', '~', '/'),
  fc.oneof(json, fc.array(json), fc.dictionary(fc.constantFrom('a', 'b'), json)),
);

describe('properties', () => {
  it('a patch applies or is refused with a status, and its arguments stay as they were', () => {
    fc.assert(
      fc.property(document, fc.array(operation, { maxLength: 5 }), (target, patch) => {
        const before = [JSON.stringify(target), JSON.stringify(patch)];
        try {
          applyJsonPatch(target, patch);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
        }
        expect([JSON.stringify(target), JSON.stringify(patch)]).toEqual(before);
      }),
      // Up to five operations each, of six kinds.
      propertyRuns(300, 1_000),
    );
  });

  it('what was added is there, and removing it restores the document', () => {
    fc.assert(
      fc.property(document, fc.string(), json, (target, key, value) => {
        fc.pre(!Object.hasOwn(target, key));
        const path = `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        const add = { op: 'add', path, value };
        const added = applyJsonPatch(target, [add, { op: 'test', path, value }]) as Record<string, JsonValue>;
        expect(Object.hasOwn(added, key)).toBe(true);
        expect(text(applyJsonPatch(target, [add, { op: 'remove', path }]))).toBe(text(target));
      }),
    );
  });
});
