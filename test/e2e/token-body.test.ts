import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { badRequest, expectStatus } from './support/expect-status.ts';
import { sendRaw } from './support/raw-http.ts';
import { type Server, startServer } from './support/server.ts';
import { ASK, createWorld, post, tokenPath } from './support/token-world.ts';

/** Bodies that can not be read, and bodies meant to hurt. */

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createWorld(server);
});
afterAll(async () => {
  expect((await post(server, ASK)).code, 'the server still serves').toBe(201);
  expect(server.output.stdout + server.output.stderr).not.toContain('request failed');
  await server.destroy();
});

const unrecognized = (why: string) =>
  badRequest(`the object provided is unrecognized (must be of type TokenRequest): ${why}`);
const unhandled = (why: string, kind = 'TokenRequest', version = 'v1') =>
  badRequest(`${kind} in version "${version}" cannot be handled as a TokenRequest: ${why}`);
const NO_TYPE = "couldn't get version/kind; json parse error: ";
const GO_STRUCT =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
const wrongType = (what: string, field: string, type: string) =>
  unhandled(`json: cannot unmarshal ${what} into Go struct field ${field} of type ${type}`);

describe('bodies that can not be read', () => {
  it.each<[string, string, ReturnType<typeof badRequest>]>([
    ['D-01: none', '', unrecognized(`${NO_TYPE}unexpected end of JSON input (<empty>)`)],
    [
      'D-02: {bad',
      '{bad',
      unrecognized(`${NO_TYPE}invalid character 'b' looking for beginning of object key string ({bad)`),
    ],
    [
      'D-03: 31 bytes',
      `{bad${' '.repeat(27)}`,
      unrecognized(
        `${NO_TYPE}invalid character 'b' looking for beginning of object key string ({bad${' '.repeat(26)} ...)`,
      ),
    ],
    [
      'D-03: what is no object is shown in hexadecimal',
      'hello',
      unrecognized(`${NO_TYPE}invalid character 'h' looking for beginning of value (68656c6c6f)`),
    ],
    [
      'D-05: an array',
      '[]',
      unrecognized(`${NO_TYPE}json: cannot unmarshal array into Go value of type ${GO_STRUCT} (5b5d)`),
    ],
    [
      'D-05: a string',
      '"x"',
      unrecognized(`${NO_TYPE}json: cannot unmarshal string into Go value of type ${GO_STRUCT} (227822)`),
    ],
    [
      'D-05: a number',
      '5',
      unrecognized(`${NO_TYPE}json: cannot unmarshal number into Go value of type ${GO_STRUCT} (35)`),
    ],
    ['C-B: two values', '{} {}', unrecognized(`${NO_TYPE}invalid character '{' after top-level value ({} {})`)],
    [
      'D-06: text for a number',
      '{"spec":{"expirationSeconds":"x"}}',
      wrongType('string', 'TokenRequestSpec.spec.expirationSeconds', 'int64'),
    ],
    [
      'C-A: a number in quotes',
      '{"spec":{"expirationSeconds":"3600"}}',
      wrongType('string', 'TokenRequestSpec.spec.expirationSeconds', 'int64'),
    ],
    [
      'D-06, T-26: 3600.5',
      '{"spec":{"expirationSeconds":3600.5}}',
      wrongType('number 3600.5', 'TokenRequestSpec.spec.expirationSeconds', 'int64'),
    ],
    [
      'T-26: 3600.0',
      '{"spec":{"expirationSeconds":3600.0}}',
      wrongType('number 3600.0', 'TokenRequestSpec.spec.expirationSeconds', 'int64'),
    ],
    [
      'T-26: 1e3',
      '{"spec":{"expirationSeconds":1e3}}',
      wrongType('number 1e3', 'TokenRequestSpec.spec.expirationSeconds', 'int64'),
    ],
    [
      'T-26: beyond int64',
      '{"spec":{"expirationSeconds":9223372036854775808}}',
      wrongType('number 9223372036854775808', 'TokenRequestSpec.spec.expirationSeconds', 'int64'),
    ],
    [
      'D-06: one audience',
      '{"spec":{"audiences":"x"}}',
      wrongType('string', 'TokenRequestSpec.spec.audiences', '[]string'),
    ],
    [
      'D-06: a number as audience',
      '{"spec":{"audiences":[1]}}',
      wrongType('number', 'TokenRequestSpec.spec.audiences', 'string'),
    ],
    ['D-06: a list as spec', '{"spec":[]}', wrongType('array', 'TokenRequest.spec', 'v1.TokenRequestSpec')],
    [
      'D-06: text as bound object',
      '{"spec":{"boundObjectRef":"x"}}',
      wrongType('string', 'TokenRequestSpec.spec.boundObjectRef', 'v1.BoundObjectReference'),
    ],
    [
      'D-07: another kind of the group',
      '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview"}',
      unhandled('no kind "TokenReview" is registered for version "authentication.k8s.io/v1"', 'TokenReview'),
    ],
    [
      'D-08: another group',
      '{"apiVersion":"v1","kind":"TokenRequest"}',
      unhandled('no kind "TokenRequest" is registered for version "v1"'),
    ],
    [
      'C-A: kind Pod',
      '{"apiVersion":"v1","kind":"Pod"}',
      unhandled('no kind "Pod" is registered for version "v1"', 'Pod'),
    ],
    [
      'S-01: Kind is heard',
      '{"Kind":"Pod"}',
      unhandled('no kind "Pod" is registered for version "authentication.k8s.io/v1"', 'Pod'),
    ],
    [
      'T-12g: another version',
      '{"apiVersion":"authentication.k8s.io/v1beta1","kind":"TokenRequest"}',
      unhandled(
        'no kind "TokenRequest" is registered for version "authentication.k8s.io/v1beta1"',
        'TokenRequest',
        'v1beta1',
      ),
    ],
    [
      'D-09: two slashes',
      '{"apiVersion":"a/b/c"}',
      unrecognized('unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})'),
    ],
  ])('%s', async (_, body, expected) => {
    expectStatus(await post(server, body), expected);
  });

  it.each([
    ['D-04: {} gets as far as its content', '{}'],
    ['D-04: so does null', 'null'],
    ['D-04: and an empty type', '{"kind":"","apiVersion":""}'],
    ['white space around it', ' \r\n\t{} '],
  ])('%s', async (_, body) => {
    const { code, json } = await post(server, body);
    expect([code, json.details.causes[0].field]).toEqual([422, 'spec.audiences']);
  });
});

describe('bodies meant to hurt', () => {
  const LIMIT = 3_145_728;
  const padded = (size: number): string => `{"spec":{"audiences":[]}${' '.repeat(size - 25)}}`;

  it('D-10: exactly 3 MiB are read', async () => {
    expect((await post(server, padded(LIMIT))).code).toBe(201);
  });

  it('D-10: one byte more is 413', async () => {
    expectStatus(await post(server, padded(LIMIT + 1)), {
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: `Request entity too large: limit is ${LIMIT}`,
    });
  });

  it.each<[string, string, string]>([
    ['100,000 open brackets', '['.repeat(100_000), 'the body of the request nests values more than 64 levels deep'],
    ['100,000 open braces', '{"a":'.repeat(100_000), 'the body of the request nests values more than 64 levels deep'],
    [
      '200,000 keys',
      `{${Array.from({ length: 200_000 }, (_, index) => `"${index}":1`).join(',')}}`,
      'the body of the request has more than 10000 keys',
    ],
    [
      'a million elements',
      `{"spec":{"audiences":[${'1,'.repeat(1_000_000)}1]}}`,
      'the body of the request has more than 5000 list elements',
    ],
  ])('C-B: %s is 400', async (_, body, message) => {
    expectStatus(await post(server, body), badRequest(message));
  });

  it('a name, a uid and a reference of a megabyte are only wrong', async () => {
    const long = 'x'.repeat(1_000_000);
    for (const body of [
      { metadata: { name: long }, ...ASK },
      { metadata: { uid: long }, ...ASK },
      { spec: { audiences: [], boundObjectRef: { kind: 'Pod', name: long } } },
      { spec: { audiences: [], boundObjectRef: { kind: long } } },
      { spec: { audiences: [long] } },
    ]) {
      const { code } = await post(server, body);
      expect([400, 404, 409, 422]).toContain(code);
    }
  });

  it.each<[string, string]>([
    ['an alias', 'spec: &a {audiences: []}\nstatus: *a\n'],
    [
      'a billion laughs',
      `a: &a [x]\n${Array.from({ length: 30 }, (_, i) => `b${i}: &b${i} [${i === 0 ? '*a,*a' : `*b${i - 1},*b${i - 1}`}]`).join('\n')}\n`,
    ],
    ['two documents', 'spec: {audiences: []}\n---\nspec: {audiences: []}\n'],
    ['a tag', 'spec: !!js/function x\n'],
    ['a broken line', 'spec: [\n'],
  ])('C-B: YAML with %s is 400', async (_, body) => {
    const { code, json } = await post(server, body, { headers: { 'Content-Type': 'application/yaml' } });
    expect([code, json.reason]).toEqual([400, 'BadRequest']);
    expect(json.message).toMatch(
      /^(the object provided is unrecognized|the body of the request|TokenRequest in version)/,
    );
  });

  it('C-B: a compressed body is 415', async () => {
    const answer = await post(server, gzipSync('{}').toString('latin1'), { headers: { 'Content-Encoding': 'gzip' } });
    expectStatus(answer, {
      code: 415,
      reason: 'UnsupportedMediaType',
      message: 'the body of the request has a content encoding - the only one accepted is identity',
    });
  });

  it('bytes that are no UTF-8 are replaced, as Go does', async () => {
    const body = Buffer.from('{"spec":{"audiences":["a\xff"]}}', 'latin1');
    const head = `POST ${tokenPath()} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${server.adminToken}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const answer = Buffer.from(await sendRaw(server, Buffer.concat([Buffer.from(head), body])), 'latin1').toString();
    expect(answer).toMatch(/^HTTP\/1\.1 201 /);
    expect(answer).toContain('"audiences":["a\ufffd"]');
  });
});
