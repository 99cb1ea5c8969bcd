import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../../lib/any-character.fixture.ts';
import { cpuTimeOf, TEST_LIMIT_MS } from '../../lib/cpu-time.fixture.ts';
import type { JsonValue } from '../../lib/json.ts';
import { propertyRuns } from '../../lib/property-runs.fixture.ts';
import { CLUSTER_TYPE } from '../cluster.fixture.ts';
import { tokenRequestType } from '../kinds/token-request.ts';
import { refusal } from '../refusal.fixture.ts';
import { ApiError } from '../status.ts';
import { cluster, decode, HANDLED, sample } from './decode.fixture.ts';
import { decodeValue, type FieldValidation } from './decode.ts';
import { encodeValue } from './encode.ts';

describe('A19: lists and maps are limited', () => {
  const finalizers = (count: number) => Array.from({ length: count }, (_, index) => `a.io/${index}`);
  const labels = (count: number) => Object.fromEntries(finalizers(count).map((key) => [key, 'x']));
  const head = { ...CLUSTER_TYPE };

  test.each([
    ['of a built-in type', sample, { kind: 'Sample', apiVersion: 'example.dev/v1' }],
    ['of a custom one', cluster, head],
  ])('%s', (_, type, typeMeta) => {
    const body = (metadata: object) => JSON.stringify({ ...typeMeta, metadata: { name: 'x', ...metadata } });
    expect(decode(body({ finalizers: finalizers(100), labels: labels(1_000) }), type).violations).toEqual([]);
    expect(refusal(() => decode(body({ finalizers: finalizers(101), labels: labels(1_001) }), type))).toMatchObject({
      code: 422,
      details: {
        name: 'x',
        causes: [
          {
            reason: 'FieldValueTooMany',
            field: 'metadata.finalizers',
            message: 'Too many: 101: must have at most 100 items',
          },
          {
            reason: 'FieldValueTooMany',
            field: 'metadata.labels',
            message: 'Too many: 1001: must have at most 1000 items',
          },
        ],
      },
    });
  });
});

describe('unknown and duplicate fields', () => {
  const body =
    '{"x":1,"spec":{"audiences":["a"],"y":{"z":1,"z":2},"audiences":["b"]},"x":2,"metadata":{"labels":{"a":"1","a":"2"},"ownerReferences":[{"q":1}]},"Spec":{}}';
  const found = [
    'unknown field "x"',
    'unknown field "spec.y"',
    'duplicate field "spec.audiences"',
    'duplicate field "metadata.labels.a"',
    'unknown field "metadata.ownerReferences[0].q"',
    'unknown field "Spec"',
  ];

  test('S-02, S-03, S-04, S-09: in document order, each once; nothing inside unknown values; the last counts', () => {
    const { value, violations } = decode(body);
    expect(violations).toEqual(found);
    expect(value).toMatchObject({ spec: { audiences: ['b'] }, metadata: { labels: { a: '2' } } });
  });

  test('S-06: Strict refuses with all of them', () => {
    expect(refusal(() => decode(body, tokenRequestType, 'Strict'))).toMatchObject({
      code: 400,
      reason: 'BadRequest',
      message: `${HANDLED}strict decoding error: ${found.join(', ')}`,
    });
  });

  test('S-01: a kind in the wrong case selects the kind and is unknown', () => {
    expect(decode('{"Kind":"TokenRequest","KIND":null}').violations).toEqual([
      'unknown field "Kind"',
      'unknown field "KIND"',
    ]);
  });

  test('S-09: a duplicate object replaces the one before it', () => {
    const { value, violations } = decode('{"spec":{"expirationSeconds":700},"spec":{"audiences":["x"]}}');
    expect(value.spec).toEqual({ audiences: ['x'] });
    expect(violations).toEqual(['duplicate field "spec"']);
  });

  test('duplicate keys inside values without a schema are reported, among few and among many', () => {
    expect(decode('{"anything":{"a":[{"b":1,"b":2}]}}', sample).violations).toEqual([
      'duplicate field "anything.a[0].b"',
    ]);
    const many = Array.from({ length: 40 }, (_, index) => `"f${index}":1`).join();
    expect(decode(`{"anything":{${many}}}`, sample).violations).toEqual([]);
    expect(decode(`{"anything":{${many},"f7":1}}`, sample).violations).toEqual(['duplicate field "anything.f7"']);
  });

  test('S-03: at most 100', () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`f${index}`, 1]));
    expect(decode(JSON.stringify(many)).violations).toHaveLength(100);
  });

  test('C-B: names that are special in JavaScript are unknown fields', () => {
    const { value, violations } = decode(
      '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"spec":{"__proto__":1}}',
    );
    expect(violations).toEqual([
      'unknown field "__proto__"',
      'unknown field "constructor"',
      'unknown field "spec.__proto__"',
    ]);
    expect((value as { admin?: unknown }).admin).toBeUndefined();
    expect((Object.prototype as Record<string, unknown>).admin).toBeUndefined();
    const labels = decode('{"metadata":{"labels":{"__proto__":"x"}}}').value.metadata as { labels: object };
    expect(Object.entries(labels.labels)).toEqual([['__proto__', 'x']]);
  });

  test('C-B: line breaks in a key are escaped', () => {
    expect(decode('{"a\\r\\nSet-Cookie":1}').violations).toEqual([
      'unknown field "a\\\\r\\\\nSet-Cookie"'.replaceAll('\\\\', '\\'),
    ]);
  });

  const yaml = 'zz: 1\nspec:\n  audiences: [a]\n  b: 1\n  audiences: [b]\nmetadata:\n  a: 1\nzz: 2\n';

  test('S-07: YAML: duplicate keys first and by line, then unknown fields sorted', () => {
    expect(decode(yaml, tokenRequestType, 'Warn', 'application/yaml').violations).toEqual([
      'line 5: key "audiences" already set in map',
      'line 8: key "zz" already set in map',
      'unknown field "metadata.a"',
      'unknown field "spec.b"',
      'unknown field "zz"',
    ]);
    expect(refusal(() => decode(yaml, tokenRequestType, 'Strict', 'application/yaml')).message).toBe(
      `${HANDLED}strict decoding error: yaml: unmarshal errors:\n  line 5: key "audiences" already set in map\n` +
        '  line 8: key "zz" already set in map, unknown field "metadata.a", unknown field "spec.b", unknown field "zz"',
    );
  });
});

describe('custom resources', () => {
  const head = '"apiVersion":"clusterregistry.k8s.io/v1alpha1","kind":"Cluster"';

  test('S-05: duplicate fields first, then metadata, then the rest sorted', () => {
    const body = `{${head},"z":{"q":1,"q":2},"metadata":{"name":"c","zeta":1,"alpha":1,"name":"d"},"a":1,"spec":{"b":1}}`;
    const { value, violations } = decode(body, cluster);
    expect(violations).toEqual([
      'duplicate field "z.q"',
      'duplicate field "metadata.name"',
      'unknown field "metadata.alpha"',
      'unknown field "metadata.zeta"',
      'unknown field "a"',
      'unknown field "spec.b"',
      'unknown field "z"',
    ]);
    expect(value).toEqual({ ...CLUSTER_TYPE, metadata: { name: 'd' }, spec: {} });
    expect(refusal(() => decode(body, cluster, 'Strict')).message).toBe(
      `Cluster in version "v1alpha1" cannot be handled as a Cluster: strict decoding error: ${violations.join(', ')}`,
    );
  });

  test.each([
    ['D-12', '{"a":1}', `Object 'Kind' is missing in '{"a":1}' ({"a":1})`],
    ['D-12', 'null', "Object 'Kind' is missing in 'null' (6e756c6c)"],
    ['D-12', '{"Kind":"Cluster"}', `Object 'Kind' is missing in '{"Kind":"Cluster"}' ({"Kind":"Cluster"})`],
    [
      'D-09',
      '{"kind":"Cluster","apiVersion":"a/b/c"}',
      'unexpected GroupVersion string: a/b/c ({"kind":"Cluster","apiVersion" ...)',
    ],
    [
      'D-09',
      '{"kind":"Cluster","apiVersion":"a/b/c","APIVERSION":"v1"}',
      'unexpected GroupVersion string: a/b/c ({"kind":"Cluster","apiVersion" ...)',
    ],
  ])('%s: %s', (_, body, why) => {
    expect(refusal(() => decode(body, cluster)).message).toBe(
      `the object provided is unrecognized (must be of type Cluster): ${why}`,
    );
  });

  test.each([
    ['{"kind":"Cluster","apiVersion":"v1"}', 'v1'],
    ['{"kind":"Cluster"}', ''],
    ['{"kind":"Cluster","apiVersion":"clusterregistry.k8s.io/v1"}', 'clusterregistry.k8s.io/v1'],
  ])('D-13: %s', (body, version) => {
    expect(refusal(() => decode(body, cluster))).toMatchObject({
      code: 400,
      message: `the API version in the data (${version}) does not match the expected API version (clusterregistry.k8s.io/v1alpha1)`,
    });
  });

  test('D-13: the wrong kind and values that do not fit are 422', () => {
    const body = `{"apiVersion":"clusterregistry.k8s.io/v1alpha1","kind":"Klaster","metadata":{"name":"c"},"spec":5,"status":{"conditions":["x",null]}}`;
    expect(refusal(() => decode(body, cluster))).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message:
        'Cluster.clusterregistry.k8s.io "c" is invalid: [kind: Invalid value: "Klaster": must be Cluster, ' +
        'spec: Invalid value: "integer": spec in body must be of type object: "integer", ' +
        'status.conditions[0]: Invalid value: "string": status.conditions[0] in body must be of type object: "string", ' +
        'status.conditions[1]: Invalid value: "null": status.conditions[1] in body must be of type object: "null"]',
    });
  });

  test('C-F: a CA bundle that is not base64 is 422', () => {
    const body = `{${head},"metadata":{"name":"c"},"spec":{"orchestratorApiEndpoints":{"caBundle":"%%"}}}`;
    const field = 'spec.orchestratorApiEndpoints.caBundle';
    expect(refusal(() => decode(body, cluster))).toMatchObject({
      code: 422,
      message: `Cluster.clusterregistry.k8s.io "c" is invalid: ${field}: Invalid value: "%%": ${field} in body must be in base64`,
    });
    const pem = body.replace('%%', '-----BEGIN CERTIFICATE-----\\nMII');
    expect(refusal(() => decode(pem, cluster)).message).toContain('and is PEM: encode the file with base64 -w0 FILE');
  });

  test('A19: a CA bundle that is too long is 422 before it is decoded', () => {
    const body = (length: number) =>
      `{${head},"metadata":{"name":"c"},"spec":{"orchestratorApiEndpoints":{"caBundle":"${'A'.repeat(length)}"}}}`;
    expect(() => decode(body(349_528), cluster)).not.toThrow();
    expect(refusal(() => decode(body(349_532), cluster))).toMatchObject({
      code: 422,
      message:
        'Cluster.clusterregistry.k8s.io "c" is invalid: spec.orchestratorApiEndpoints.caBundle: Too long: may not be more than 349528 bytes',
    });
  });

  test.each([
    ['times', `{"metadata":{${'"creationTimestamp":"x",'.repeat(9_900)}"name":"x"}}`, tokenRequestType],
    [
      'base64 texts',
      `{${head},"metadata":{"name":"c"},"spec":{"orchestratorApiEndpoints":{${'"caBundle":"!",'.repeat(9_900)}"a":1}}}`,
      cluster,
    ],
    [
      'unknown fields with long names',
      `{${head},"spec":{${Array.from({ length: 9_900 }, (_, n) => `"${'é'.repeat(140)}${n}":1`).join(',')}}}`,
      cluster,
    ],
    [
      'duplicates below long names',
      `{${head},"spec":${`{"${'k'.repeat(400)}":`.repeat(60)}{${Array.from({ length: 2_000 }, (_, n) => `"${n}":1,"${n}":2`).join(',')}}${'}'.repeat(61)}`,
      cluster,
    ],
  ])('A19: ten thousand wrong %s do not take long', (_, body, type) => {
    expect(cpuTimeOf(() => void refusal(() => decode(body, type, 'Strict')))).toBeLessThan(TEST_LIMIT_MS);
  });

  test('D-06: in metadata the error is that of Go', () => {
    expect(refusal(() => decode(`{${head},"metadata":{"name":1}}`, cluster)).message).toBe(
      'Cluster in version "v1alpha1" cannot be handled as a Cluster: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string',
    );
  });
});

describe('data that is already parsed', () => {
  test('is decoded by the same rules', () => {
    const value = {
      kind: 'TokenRequest',
      spec: { expirationSeconds: 700, x: undefined, y: 1 },
    } as unknown as JsonValue;
    expect(decodeValue(value, tokenRequestType, 'Warn')).toEqual({
      value: {
        kind: 'TokenRequest',
        apiVersion: 'authentication.k8s.io/v1',
        metadata: {},
        spec: { expirationSeconds: 700 },
      },
      violations: ['unknown field "spec.y"'],
      dropped: [],
    });
    expect(refusal(() => decodeValue({ spec: { expirationSeconds: 1.5 } }, tokenRequestType, 'Warn')).message).toBe(
      `${HANDLED}json: cannot unmarshal number 1.5 into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64`,
    );
    expect(refusal(() => decodeValue([], tokenRequestType, 'Warn')).message).toContain('(5b5d)');
  });
});

describe('properties', () => {
  const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
  const wellFormed = fc.string({ unit: 'grapheme' });
  const time = fc
    .date({ min: new Date('0002-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
    .map((date) => `${date.toISOString().slice(0, 19)}Z`);
  const sampleValue = fc.record({
    kind: fc.constant('Sample'),
    apiVersion: fc.constant('example.dev/v1'),
    metadata: fc.record({ name: optional(wellFormed), labels: optional(fc.dictionary(wellFormed, wellFormed)) }),
    time: optional(time),
    data: optional(fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64'))),
    count: optional(fc.integer()),
    flag: optional(fc.boolean()),
    maybe: optional(fc.option(wellFormed)),
    anything: optional(fc.jsonValue({ depthSize: 'small', stringUnit: 'grapheme' })),
    map: optional(fc.dictionary(wellFormed, wellFormed)),
    items: optional(fc.array(fc.record({ name: optional(wellFormed) }))),
  });

  test('what was encoded decodes to itself, whatever the style and the media type', () => {
    fc.assert(
      fc.property(
        sampleValue,
        fc.constantFrom('builtin' as const, 'custom' as const),
        fc.boolean(),
        (value, style, yaml) => {
          fc.pre(value.anything !== null);
          const type = { ...sample, style };
          const text = encodeValue(value, type.shape, style);
          const mediaType = yaml ? 'application/yaml' : 'application/json';
          const decoded = decode(text, type, 'Strict', mediaType).value;
          expect(JSON.parse(encodeValue(decoded, undefined, 'builtin'))).toEqual(JSON.parse(text));
          expect(encodeValue(decoded, type.shape, style)).toBe(text);
        },
      ),
      // Two styles by two media types: some 75 values each.
      propertyRuns(300, 1_000),
    );
  });

  test('decodes the same with and without the stored object', () => {
    const asStored = (value: object): JsonValue => JSON.parse(JSON.stringify(value));
    fc.assert(
      fc.property(
        sampleValue,
        sampleValue,
        fc.uniqueArray(fc.constantFrom('time', 'count', 'anything', 'map', 'items', 'metadata')),
        (one, other, changed) => {
          const known = asStored(decodeValue(asStored(one), sample, 'Strict').value) as { [key: string]: JsonValue };
          const sent = asStored(other) as { [key: string]: JsonValue };
          const patched = { ...known };
          for (const key of changed) if (sent[key] !== undefined) patched[key] = sent[key];
          const read = (options: object) => asStored(decodeValue(patched, sample, 'Warn', options));
          expect(read({ known })).toEqual(read({}));
        },
      ),
    );
  });

  test('throws only ApiError', () => {
    const json = fc.json({ depthSize: 'small' });
    const nearly = fc
      .tuple(
        fc.constantFrom(
          'spec',
          'metadata',
          'kind',
          'apiVersion',
          'status',
          'time',
          'data',
          'items',
          'map',
          '__proto__',
        ),
        json,
      )
      .map(([key, value]) => `{"kind":"Cluster","apiVersion":"clusterregistry.k8s.io/v1alpha1","${key}":${value}}`);
    const input = fc.oneof(fc.uint8Array({ maxLength: 64 }), json, nearly, fc.string({ unit: anyCharacter }));
    fc.assert(
      fc.property(
        input,
        fc.constantFrom(tokenRequestType, cluster, sample),
        fc.constantFrom<FieldValidation>('Ignore', 'Warn', 'Strict'),
        fc.constantFrom('application/json', 'application/yaml', 'application/x'),
        (body, type, mode, mediaType) => {
          try {
            decode(body, type, mode, mediaType);
          } catch (error) {
            if (!(error instanceof ApiError)) throw error;
          }
        },
      ),
      // Four kinds of input by three types: some 40 of each.
      propertyRuns(500, 2_000),
    );
  });
});
