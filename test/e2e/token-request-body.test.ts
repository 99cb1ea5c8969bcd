import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { badRequest, expectStatus } from './support/expect-status.ts';
import { ASK, createObjects, inNamespace, post, tokenPath } from './support/objects.ts';
import { envelope, message, type Proto } from './support/protobuf.ts';
import { rawCall, sendRaw } from './support/raw-http.ts';
import type { Answer, Server } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';

/** TokenRequest: paths, media types and bodies, well-formed and hostile. */

let server: Server;

beforeAllWithServer(async (shared) => {
  server = shared;
  await createObjects(server);
});

/** The paths and methods of the token operation, and the responses of similar ones. */

describe('paths', () => {
  it.each<[string, string, number, string]>([
    [
      'T-12a: an empty name',
      '/orchestrator/alpha/api/v1/namespaces/ci/serviceaccounts//token',
      400,
      'name must be provided',
    ],
    ['T-12m: a name with %', tokenPath('a%25b'), 400, `Name parameter invalid: \\"a%b\\": may not contain '%'`],
    ['T-12m, M-07: ..', tokenPath('..'), 400, `Name parameter invalid: \\"..\\": may not be '..'`],
    ['M-07: .. as namespace', tokenPath('builder', '..'), 400, `may not be '..'`],
    ['A16: an encoded slash', tokenPath('a%2Fb'), 400, 'the request path must not contain the escape \\"%2F\\"'],
    ['A16: encoded dots', tokenPath('%2e%2e'), 400, 'the request path must not contain the escape \\"%2e\\"'],
    ['A16: NUL', tokenPath('a%00'), 400, 'the request path must not contain the escape \\"%00\\"'],
    [
      'M-08: case counts',
      tokenPath().replace('serviceaccounts', 'serviceAccounts'),
      404,
      'the server could not find the requested resource',
    ],
    [
      'R-03: another subresource',
      tokenPath().replace('/token', '/tokens'),
      404,
      'the server could not find the requested resource',
    ],
    ['R-03: below the token', `${tokenPath()}/x`, 404, 'the server could not find the requested resource'],
    [
      'R-03: without a namespace',
      '/orchestrator/alpha/api/v1/serviceaccounts/builder/token',
      404,
      'the server could not find',
    ],
    [
      'X-20: without a cluster',
      '/api/v1/namespaces/ci/serviceaccounts/builder/token',
      405,
      'serviceaccounts live inside clusters: send this request below the path of one, /orchestrator/CLUSTER',
    ],
    ['R-03: another version', tokenPath().replace('/v1/', '/v2/'), 404, 'the server could not find'],
    ['R-03: a token of a pod', inNamespace('pods/web-0/token'), 404, 'the server could not find'],
    [
      'R-03: an empty cluster',
      '/orchestrator//api/v1/namespaces/ci/serviceaccounts/builder/token',
      404,
      'the server could not find',
    ],
    ['R-07: a trailing slash', `${tokenPath()}/`, 201, '"kind":"TokenRequest"'],
    ['M-06: an escaped letter', tokenPath('%62uilder'), 201, '"kind":"TokenRequest"'],
  ])('%s', async (_, path, code, words) => {
    const answer = await rawCall(server, 'POST', path, { body: JSON.stringify(ASK) });
    expect(answer.text).toContain(words);
    expect(answer.code).toBe(code);
  });

  it('R-03: is a Status with empty details', async () => {
    expectStatus(await post(server, ASK, { path: `${tokenPath()}s` }), {
      code: 404,
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
      details: {},
    });
  });

  it.each(['GET', 'PUT', 'PATCH', 'DELETE'])('R-04: %s is 405 without an Allow header', async (method) => {
    const answer = await server.call(method, tokenPath());
    expectStatus(answer, {
      code: 405,
      reason: 'MethodNotAllowed',
      message: 'the server does not allow this method on the requested resource',
      details: {},
    });
    expect(answer.headers.get('allow')).toBeNull();
  });

  it('R-04, R-09: HEAD is 405', async () => {
    expect((await server.call('HEAD', tokenPath())).code).toBe(405);
  });
});

/** The media types of requests and responses. */

describe('C-B: formats', () => {
  const TYPES = 'application/json, application/yaml';
  const post415 = {
    code: 415,
    reason: 'UnsupportedMediaType',
    message: `the body of the request was in an unknown format - accepted media types include: ${TYPES}, application/vnd.kubernetes.protobuf`,
  };

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/merge-patch+json', 'json', 'application/*'])(
    'N-02: a body of type %s is 415',
    async (type) => {
      expectStatus(await post(server, JSON.stringify(ASK), { headers: { 'Content-Type': type } }), post415);
    },
  );

  it.each(['application/json; charset=utf-8', 'application/json;x', 'application/yaml'])(
    'N-02: %s is read',
    async (type) => {
      expect((await post(server, JSON.stringify(ASK), { headers: { 'Content-Type': type } })).code).toBe(201);
    },
  );

  it('N-01: a body without a type is JSON', async () => {
    const body = JSON.stringify(ASK);
    const head = `POST ${tokenPath()} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${server.adminToken}\r\nContent-Length: ${body.length}\r\n\r\n`;
    expect(await sendRaw(server, head + body)).toMatch(/^HTTP\/1\.1 201 /);
  });

  it.each<[string, string, string]>([
    ['N-01: none', '', 'application/json'],
    ['anything', '*/*', 'application/json'],
    ['N-08: JSON with a charset', 'application/json; charset=utf-8', 'application/json'],
    ['YAML', 'application/yaml', 'application/yaml'],
    ['N-06: by quality', 'application/json;q=0.5, application/yaml', 'application/yaml'],
    ['N-06: q=0 is only the last choice', 'application/yaml;q=0', 'application/yaml'],
    ['N-06: named before wildcard', '*/*, application/yaml', 'application/yaml'],
    [
      'N-07: a clause that cannot be met is passed over',
      'application/json;as=Table;g=meta.k8s.io;v=v1, application/json',
      'application/json',
    ],
    ['N-07: unknown parameters mean nothing', 'application/json;x=y', 'application/json'],
    ['what kubectl sends', 'application/vnd.kubernetes.protobuf,application/json', 'application/json'],
  ])('%s', async (_, accept, type) => {
    const answer = await post(server, ASK, { headers: accept === '' ? {} : { Accept: accept } });
    expect([answer.code, answer.headers.get('content-type')]).toEqual([201, type]);
    const value = type === 'application/yaml' ? parse(answer.text) : answer.json;
    expect(value).toMatchObject({ kind: 'TokenRequest', status: { token: expect.stringMatching(/^eyJ/) } });
  });

  it('N-07: the metadata alone can be requested', async () => {
    const headers = { Accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' };
    const answer = await post(server, ASK, { headers });
    expect([answer.code, answer.headers.get('content-type')]).toEqual([201, 'application/json']);
    expect(answer.text).toMatch(
      /^\{"kind":"PartialObjectMetadata","apiVersion":"meta\.k8s\.io\/v1","metadata":\{"name":"builder","namespace":"ci","uid":"[^"]+","creationTimestamp":"[^"]+"\}\}\n$/,
    );
  });

  it.each(['text/html', 'application/*', 'image/png, text/plain'])(
    'N-03, N-05: %s is 406, indented',
    async (accept) => {
      const answer = await post(server, ASK, { headers: { Accept: accept } });
      expectStatus(answer, {
        code: 406,
        reason: 'NotAcceptable',
        message: `406: Not Acceptable\n\nAvailable representations: ${TYPES}`,
        details: {},
      });
      expect(answer.text).toMatch(/^\{\n {2}"kind": "Status",[\s\S]*\n\}$/);
    },
  );

  it('N-04: a table alone is 406', async () => {
    const headers = { Accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
    expectStatus(await post(server, ASK, { headers }), {
      code: 406,
      reason: 'NotAcceptable',
      message: `only the following media types are accepted: ${TYPES}`,
    });
  });

  it('T-12b, T-12c: Accept is checked before the type, and the type before the size', async () => {
    const huge = 'x'.repeat(3_145_729);
    const both = { Accept: 'text/html', 'Content-Type': 'text/plain' };
    expect((await post(server, huge, { headers: both })).code).toBe(406);
    expect((await post(server, huge, { headers: { 'Content-Type': 'text/plain' } })).code).toBe(415);
    expect((await post(server, huge, { path: `${tokenPath()}?dryRun=x` })).code).toBe(413);
  });

  it('an error is JSON, also for a client that accepts only YAML', async () => {
    expectStatus(await post(server, ASK, { path: tokenPath('nobody'), headers: { Accept: 'application/yaml' } }), {
      code: 404,
      reason: 'NotFound',
      message: 'serviceaccounts "nobody" not found',
      details: { name: 'nobody', kind: 'serviceaccounts' },
    });
  });
});

describe('protobuf', () => {
  /** X-01: kubectl requests tokens in protobuf, and accepts errors in JSON. */

  const PROTOBUF = 'application/vnd.kubernetes.protobuf';

  let podUid: string;

  beforeAll(async () => {
    podUid = (await server.call('GET', '/orchestrator/alpha/api/v1/namespaces/ci/pods/web-0')).json.metadata.uid;
  });

  const post = (body: Uint8Array, path = tokenPath(), accept = `${PROTOBUF},application/json`): Promise<Answer> =>
    server.call('POST', path, { body, headers: { 'Content-Type': PROTOBUF, Accept: accept } });
  const ask = (fields: Proto): Uint8Array => envelope('authentication.k8s.io/v1', 'TokenRequest', message(fields));

  describe('a request in protobuf', () => {
    it('X-01: gets its token, in JSON', async () => {
      const boundObjectRef = { 1: 'Pod', 2: 'v1', 3: 'web-0', 4: podUid };
      const answer = await post(ask({ 1: { 1: '' }, 2: { 1: ['vault'], 3: boundObjectRef, 4: 600 } }));
      expect([answer.code, answer.headers.get('content-type')]).toEqual([201, 'application/json']);
      expect(answer.json).toMatchObject({
        kind: 'TokenRequest',
        metadata: { name: 'builder', namespace: 'ci' },
        spec: { audiences: ['vault'], expirationSeconds: 600, boundObjectRef: { kind: 'Pod', name: 'web-0' } },
        status: { token: expect.stringMatching(/^eyJ/) },
      });
      expect(answer.warnings).toEqual([]);
    });

    it.each<[string, Proto]>([
      ['no audiences', { 2: { 4: 600 } }],
      ['no spec at all', {}],
    ])('decision 2: with %s it is for the API of the cluster', async (_, fields) => {
      const { code, json } = await post(ask({ 1: { 1: 'builder' }, ...fields }));
      expect([code, json.spec.audiences]).toEqual([201, [`${server.url}/orchestrator/alpha`]]);
    });

    it('S-08: unknown fields are ignored, also with fieldValidation=Strict', async () => {
      const answer = await post(ask({ 2: { 1: ['a'], 99: 'x' } }), `${tokenPath()}?fieldValidation=Strict`);
      expect([answer.code, answer.warnings]).toEqual([201, []]);
    });

    it('has the same checks as JSON', async () => {
      expect((await post(ask({ 2: { 1: ['a'], 4: 1 } }))).code).toBe(422);
      expect((await post(ask({ 1: { 3: 'elsewhere' }, 2: {} }))).code).toBe(400);
      expect((await post(ask({ 2: { 3: { 1: 'Node', 3: 'n' } } }))).code).toBe(400);
    });

    it.each<[string, Uint8Array, string]>([
      ['D-11: empty', new Uint8Array(), 'empty data (<empty>)'],
      [
        'D-11: no protobuf',
        Buffer.from('abc'),
        'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (616263)',
      ],
    ])('%s', async (_, body, why) => {
      expectStatus(await post(body), {
        code: 400,
        reason: 'BadRequest',
        message: `the object provided is unrecognized (must be of type TokenRequest): ${why}`,
      });
    });

    it('is not answered in protobuf', async () => {
      expect((await post(ask({ 2: {} }), tokenPath(), PROTOBUF)).code).toBe(406);
    });
  });

  describe('other objects in protobuf', () => {
    it('are accepted for kinds of Kubernetes', async () => {
      const body = envelope('v1', 'Namespace', message({ 1: { 1: 'from-protobuf', 11: [{ 1: 'a', 2: 'b' }] } }));
      const answer = await post(body, '/orchestrator/alpha/api/v1/namespaces');
      expect([answer.code, answer.json.metadata.labels]).toEqual([201, { a: 'b' }]);
      const options = envelope('v1', 'DeleteOptions', message({ 2: { 1: 'another-uid' } }));
      const path = '/orchestrator/alpha/api/v1/namespaces/from-protobuf';
      const headers = { 'Content-Type': PROTOBUF };
      expect((await server.call('DELETE', path, { body: options, headers })).code).toBe(409);
    });

    it('are refused for a custom resource: 415, without protobuf in the list of media types', async () => {
      const body = envelope('clusterregistry.k8s.io/v1alpha1', 'Cluster', message({ 1: { 1: 'x' } }));
      expectStatus(await post(body, '/apis/clusterregistry.k8s.io/v1alpha1/clusters'), {
        code: 415,
        reason: 'UnsupportedMediaType',
        message:
          'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml',
      });
    });
  });
});

describe('JSON and YAML', () => {
  /** Bodies that cannot be parsed, and hostile bodies. */

  afterAll(async () => {
    expect((await post(server, ASK)).code, 'the server still serves').toBe(201);
    expect(server.output.stdout + server.output.stderr).not.toContain('request failed');
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

  describe('bodies that cannot be parsed', () => {
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

  describe('hostile bodies', () => {
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

    it('a name, a uid and a reference of a megabyte are plain errors', async () => {
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

    it.each([
      ['application/json', '{"spec":{"audiences":["a\xff"]}}', 'byte 24 (0xff) is not UTF-8'],
      ['application/yaml', 'spec: {audiences: ["a\xff"]}', 'byte 21 (0xff) is not UTF-8'],
      ['application/json', '{"spec":{"audiences":["a\\ud800"]}}', 'spec.audiences[0]: \\\\ud800 is half of'],
      ['application/yaml', 'spec: {audiences: ["a\\ud800"]}', 'spec.audiences[0]: \\\\ud800 is half of'],
      ['application/vnd.kubernetes.protobuf', 'k8s\0\x12\x06\x12\x04\x0a\x02a\xff', 'spec.audiences[0]: byte 1 (0xff)'],
    ])('C-B, F-12: text that is no Unicode is 400, and nothing is replaced: %s %j', async (type, text, why) => {
      const body = Buffer.from(text, 'latin1');
      const head = `POST ${tokenPath()} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${server.adminToken}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
      const answer = Buffer.from(await sendRaw(server, Buffer.concat([Buffer.from(head), body])), 'latin1').toString();
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain(`the body of the request is not Unicode text: ${why}`);
    });
  });
});
