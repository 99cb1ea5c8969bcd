import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../lib/json.ts';
import { tokenRequestType } from '../kinds/token-request.ts';
import { refusal } from '../refusal.fixture.ts';
import { decode, HANDLED, type Input, sample } from './decode.fixture.ts';
import { decodeValue } from './decode.ts';

const UNRECOGNIZED = 'the object provided is unrecognized (must be of type TokenRequest): ';
const NO_TYPE = `${UNRECOGNIZED}couldn't get version/kind; json parse error: `;
const STRUCT =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

describe('bodies that cannot be decoded', () => {
  test.each<[string, Input, string]>([
    ['D-01', '', `${NO_TYPE}unexpected end of JSON input (<empty>)`],
    ['D-02', '{bad', `${NO_TYPE}invalid character 'b' looking for beginning of object key string ({bad)`],
    [
      'D-03',
      `{${' '.repeat(28)}x`,
      `${NO_TYPE}invalid character 'x' looking for beginning of object key string ({${' '.repeat(28)}x)`,
    ],
    [
      'D-03',
      `{${' '.repeat(29)}x`,
      `${NO_TYPE}invalid character 'x' looking for beginning of object key string ({${' '.repeat(29)} ...)`,
    ],
    ['D-03', ' {', `${NO_TYPE}unexpected end of JSON input (207b)`],
    ['D-03', 'x'.repeat(31), `${NO_TYPE}invalid character 'x' looking for beginning of value (${'78'.repeat(30)} ...)`],
    ['C-B', '{} {}', `${NO_TYPE}invalid character '{' after top-level value ({} {})`],
    ['D-05', '[]', `${NO_TYPE}json: cannot unmarshal array into Go value of type ${STRUCT} (5b5d)`],
    ['D-05', '"x"', `${NO_TYPE}json: cannot unmarshal string into Go value of type ${STRUCT} (227822)`],
    ['D-05', '5', `${NO_TYPE}json: cannot unmarshal number into Go value of type ${STRUCT} (35)`],
    ['D-05', 'true', `${NO_TYPE}json: cannot unmarshal bool into Go value of type ${STRUCT} (74727565)`],
    [
      'S-01',
      '{"kind":5}',
      `${NO_TYPE}json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5})`,
    ],
    ['D-09', '{"apiVersion":"a/b/c"}', `${UNRECOGNIZED}unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})`],
    [
      'D-08',
      '{"apiVersion":"v1","kind":"TokenRequest"}',
      `${HANDLED}no kind "TokenRequest" is registered for version "v1"`,
    ],
    [
      'T-12g',
      '{"apiVersion":"authentication.k8s.io/v1beta1","kind":"TokenRequest"}',
      'TokenRequest in version "v1beta1" cannot be handled as a TokenRequest: no kind "TokenRequest" is registered for version "authentication.k8s.io/v1beta1"',
    ],
    [
      'D-07',
      '{"kind":"TokenReview"}',
      'TokenReview in version "v1" cannot be handled as a TokenRequest: no kind "TokenReview" is registered for version "authentication.k8s.io/v1"',
    ],
    [
      'S-01',
      '{"Kind":"Foo"}',
      'Foo in version "v1" cannot be handled as a TokenRequest: no kind "Foo" is registered for version "authentication.k8s.io/v1"',
    ],
    [
      'S-01',
      '{"\u212aind":"Foo"}',
      'Foo in version "v1" cannot be handled as a TokenRequest: no kind "Foo" is registered for version "authentication.k8s.io/v1"',
    ],
    [
      'D-08',
      '{"apiVersion":"other/"}',
      `TokenRequest in version "" cannot be handled as a TokenRequest: Object 'apiVersion' is missing in '{"apiVersion":"other/"}'`,
    ],
  ])('%s: %j', (_, input, message) => {
    expect(refusal(() => decode(input))).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason: 'BadRequest',
      code: 400,
    });
  });

  test.each(['{}', 'null', '{"kind":null}', '{"kind":"TokenRequest"}', '{"apiVersion":"authentication.k8s.io/"}'])(
    'D-04: %s gets the type of the endpoint',
    (body) => {
      expect(decode(body)).toEqual({
        value: { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', metadata: {} },
        violations: [],
        dropped: [],
      });
    },
  );

  test('N-02: other media types', () => {
    expect(refusal(() => decode('{}', tokenRequestType, 'Warn', 'text/plain')).code).toBe(415);
  });

  test('text of the request is truncated in messages', () => {
    const long = 'x'.repeat(1_000_000);
    for (const body of [
      `{"kind":"${long}"}`,
      `{"apiVersion":"${long}"}`,
      `{"apiVersion":"a/b/${long}"}`,
      `{"${long}":1}`,
    ]) {
      expect(refusal(() => decode(body, tokenRequestType, 'Strict')).message?.length).toBeLessThan(2_000);
    }
  });
});

describe('D-06: values of the wrong type', () => {
  const spec = (json: string): string => `{"spec":${json}}`;
  const unmarshal = (what: string, field: string, type: string): string =>
    `${HANDLED}json: cannot unmarshal ${what} into Go struct field ${field} of type ${type}`;

  test.each([
    [spec('{"expirationSeconds":"x"}'), unmarshal('string', 'TokenRequestSpec.spec.expirationSeconds', 'int64')],
    [
      spec('{"expirationSeconds":3600.5}'),
      unmarshal('number 3600.5', 'TokenRequestSpec.spec.expirationSeconds', 'int64'),
    ],
    [
      spec('{"expirationSeconds":3600.0}'),
      unmarshal('number 3600.0', 'TokenRequestSpec.spec.expirationSeconds', 'int64'),
    ],
    [spec('{"expirationSeconds":1e3}'), unmarshal('number 1e3', 'TokenRequestSpec.spec.expirationSeconds', 'int64')],
    [
      spec('{"expirationSeconds":9223372036854775808}'),
      unmarshal('number 9223372036854775808', 'TokenRequestSpec.spec.expirationSeconds', 'int64'),
    ],
    [spec('{"expirationSeconds":true}'), unmarshal('bool', 'TokenRequestSpec.spec.expirationSeconds', 'int64')],
    [spec('{"audiences":"x"}'), unmarshal('string', 'TokenRequestSpec.spec.audiences', '[]string')],
    [spec('{"audiences":[1]}'), unmarshal('number', 'TokenRequestSpec.spec.audiences', 'string')],
    [
      spec('{"boundObjectRef":[]}'),
      unmarshal('array', 'TokenRequestSpec.spec.boundObjectRef', 'v1.BoundObjectReference'),
    ],
    [
      spec('{"boundObjectRef":{"name":{}}}'),
      unmarshal('object', 'BoundObjectReference.spec.boundObjectRef.name', 'string'),
    ],
    [spec('"x"'), unmarshal('string', 'TokenRequest.spec', 'v1.TokenRequestSpec')],
    ['{"metadata":{"labels":{"a":1}}}', unmarshal('number', 'ObjectMeta.metadata.labels', 'string')],
    ['{"metadata":{"labels":[]}}', unmarshal('array', 'ObjectMeta.metadata.labels', 'map[string]string')],
    [
      '{"metadata":{"ownerReferences":{}}}',
      unmarshal('object', 'ObjectMeta.metadata.ownerReferences', '[]v1.OwnerReference'),
    ],
    [
      '{"metadata":{"ownerReferences":[{"uid":1}]}}',
      unmarshal('number', 'OwnerReference.metadata.ownerReferences.uid', 'string'),
    ],
    ['{"metadata":{"creationTimestamp":5}}', unmarshal('number', 'ObjectMeta.metadata.creationTimestamp', 'string')],
    ['{"metadata":{"name":1},"spec":"x"}', unmarshal('number', 'ObjectMeta.metadata.name', 'string')],
    ['{"spec":"x","unknown":1}', unmarshal('string', 'TokenRequest.spec', 'v1.TokenRequestSpec')],
  ])('%s', (body, message) => {
    expect(refusal(() => decode(body, tokenRequestType, 'Strict'))).toMatchObject({
      message,
      reason: 'BadRequest',
      code: 400,
    });
  });

  test.each([
    ['4294967297', 4294967297],
    ['0', 0],
    ['-1', -1],
    ['-0', 0],
    ['9223372036854775807', Number.MAX_SAFE_INTEGER],
  ])('T-26: the integer %s is one', (json, value) => {
    expect(decode(spec(`{"expirationSeconds":${json}}`)).value.spec).toEqual({ expirationSeconds: value });
  });

  test.each([
    ['{"count":2147483648,"flag":false}', { count: 2147483648, flag: false }],
    ['{"count":1e999}', 'json: cannot unmarshal number 1e999 into Go struct field Sample.count of type int64'],
    ['{"items":[{"name":1}]}', 'json: cannot unmarshal number into Go struct field Item.items.name of type string'],
    ['{"items":["x"]}', 'json: cannot unmarshal string into Go struct field Sample.items of type v1.Item'],
  ])('%s', (body, outcome) => {
    if (typeof outcome !== 'string') expect(decode(body, sample).value).toMatchObject(outcome);
    else
      expect(refusal(() => decode(body, sample)).message).toBe(
        `Sample in version "v1" cannot be handled as a Sample: ${outcome}`,
      );
  });
});

describe('a body that the server makes itself', () => {
  const value = (body: object) => decodeValue<Record<string, unknown>>(body as JsonValue, sample, 'Strict');

  test('is checked against the schema like one that was sent', () => {
    const time = '2024-02-29T23:59:59Z';
    expect(value({ time, absent: undefined }).value).toMatchObject({ kind: 'Sample', time });
    expect(() => value({ time: 5 })).toThrow('cannot be handled as a Sample');
    expect(() => value({ unknown: 'x' })).toThrow('unknown field "unknown"');
  });
});

describe('formats', () => {
  const failed = (why: string): string => `Sample in version "v1" cannot be handled as a Sample: ${why}`;
  const layout = '"2006-01-02T15:04:05Z07:00"';

  test.each([
    ['2024-02-29T23:59:59Z', '2024-02-29T23:59:59Z'],
    ['2024-01-01T00:00:00.999999999+02:30', '2023-12-31T21:30:00Z'],
    ['0050-01-01T00:00:00-01:00', '0050-01-01T01:00:00Z'],
    ['0001-01-01T00:00:00Z', undefined],
  ])('T-09: the time %s', (time, normal) => {
    expect(decode(JSON.stringify({ time }), sample).value.time).toBe(normal);
  });

  test.each([
    ['x', `parsing time "x" as ${layout}: cannot parse "x" as "2006"`],
    ['', `parsing time "" as ${layout}: cannot parse "" as "2006"`],
    ['2024-01-01', `parsing time "2024-01-01" as ${layout}: cannot parse "" as "T"`],
    ['2024-01-01 00:00:00Z', `parsing time "2024-01-01 00:00:00Z" as ${layout}: cannot parse " 00:00:00Z" as "T"`],
    ['2024-01-01T00:00:00', `parsing time "2024-01-01T00:00:00" as ${layout}: cannot parse "" as "Z07:00"`],
    ['2024-13-01T00:00:00Z', 'parsing time "2024-13-01T00:00:00Z": month out of range'],
    ['2023-02-29T00:00:00Z', 'parsing time "2023-02-29T00:00:00Z": day out of range'],
    ['2024-04-31T00:00:00Z', 'parsing time "2024-04-31T00:00:00Z": day out of range'],
    ['2024-01-01T24:00:00Z', 'parsing time "2024-01-01T24:00:00Z": hour out of range'],
    ['2024-01-01T00:00:60Z', 'parsing time "2024-01-01T00:00:60Z": second out of range'],
    ['2024-01-01T00:00:00+25:00', 'parsing time "2024-01-01T00:00:00+25:00": time zone offset hour out of range'],
    ['9999-12-31T23:59:59-01:00', 'parsing time "9999-12-31T23:59:59-01:00": year out of range'],
    ['2024-01-01T00:00:00Zx', 'parsing time "2024-01-01T00:00:00Zx": extra text: "x"'],
  ])('not a time: %j', (time, why) => {
    expect(refusal(() => decode(JSON.stringify({ time }), sample)).message).toBe(failed(why));
  });

  test.each([
    ['', ''],
    ['aGk=', 'aGk='],
    ['aG\r\nk=\n', 'aGk='],
    ['aGl=', 'aGk='],
    ['+/+/', '+/+/'],
  ])('the bytes %j', (data, canonical) => {
    expect(decode(JSON.stringify({ data }), sample).value.data).toBe(canonical);
  });

  test.each(['a', 'aGk', 'aGlpa', '=', 'aG=x', 'aG=', 'aGk=a', 'aG-_', 'aGk\u00e9', 'aG k'])(
    'not base64: %j',
    (data) => {
      expect(refusal(() => decode(JSON.stringify({ data }), sample)).message).toBe(failed('must be in base64'));
    },
  );
});

describe('null', () => {
  test('means absence, except where a schema keeps it', () => {
    expect(decode('{"metadata":null,"spec":{"audiences":null,"expirationSeconds":null}}').value).toEqual({
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {},
      spec: { audiences: null },
    });
    expect(decode('{"spec":{}}').value.spec).toEqual({});
    expect(decode('{"maybe":null,"flag":null}', sample).value).toEqual({
      kind: 'Sample',
      apiVersion: 'example.dev/v1',
      metadata: {},
      maybe: null,
    });
  });
});
