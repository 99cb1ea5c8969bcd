import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { badRequest, expectStatus } from './support/expect-status.ts';
import {
  ASK,
  createAccount,
  createCluster,
  createNamespace,
  createObjects,
  post,
  tokenPath,
} from './support/objects.ts';
import { envelope, message } from './support/protobuf.ts';
import { type Answer, type Server, startServer } from './support/server.ts';

/** TokenRequest: query parameters, annotations, warnings, and differences to kube-apiserver. */

let server: Server;
let uids: Awaited<ReturnType<typeof createObjects>>;

beforeAll(async () => {
  server = await startServer({ args: ['--service-account-max-token-expiration', '2h'] });
  uids = await createObjects(server);
});
afterAll(() => server.destroy());

describe('query parameters and unknown fields', () => {
  /** Query parameters of the token request, unknown fields, and the warnings for them. */

  const ask = (query: string, body: unknown = ASK, headers: Record<string, string> = {}): Promise<Answer> =>
    post(server, body, { path: `${tokenPath()}?${query}`, headers });

  type Cause = readonly [field: string, reason: string, message: string];
  const DRY_RUN = (list: string): Cause => [
    'dryRun',
    'FieldValueNotSupported',
    `Unsupported value: ${list}: supported values: "All"`,
  ];
  const TOO_LONG: Cause = ['fieldManager', 'FieldValueTooLong', 'Too long: may not be more than 127 bytes'];
  const VALIDATION = (value: string): Cause => [
    'fieldValidation',
    'FieldValueNotSupported',
    `Unsupported value: "${value}": supported values: "", "Ignore", "Strict", "Warn"`,
  ];
  const UNPRINTABLE = (value: string, rune: string, position: number): Cause => [
    'fieldManager',
    'FieldValueInvalid',
    `Invalid value: ${value}: invalid character ${rune} (at position ${position})`,
  ];

  describe('query parameters', () => {
    it.each<[string, string, readonly Cause[]]>([
      ['Q-03: an unknown dryRun', 'dryRun=Some', [DRY_RUN('["Some"]')]],
      ['Q-03: an empty dryRun', 'dryRun=', [DRY_RUN('[""]')]],
      ['Q-03: case counts', 'dryRun=all', [DRY_RUN('["all"]')]],
      ['Q-03: every value counts', 'dryRun=All&dryRun=x', [DRY_RUN('["All","x"]')]],
      ['Q-04, decision 4: 128 characters', `fieldManager=${'m'.repeat(128)}`, [TOO_LONG]],
      ['Q-05: an unprintable character', 'fieldManager=a%0Ab', [UNPRINTABLE('"a\\nb"', 'U+000A', 1)]],
      [
        'Q-05: each of them, by its place in bytes',
        'fieldManager=%C3%BC%00%C2%A0',
        [UNPRINTABLE('"\u00fc\\x00\\u00a0"', 'U+0000', 2), UNPRINTABLE('"\u00fc\\x00\\u00a0"', 'U+00A0', 3)],
      ],
      ['Q-06: an unknown fieldValidation', 'fieldValidation=strict', [VALIDATION('strict')]],
      ['C-B: Bogus', 'fieldValidation=Bogus', [VALIDATION('Bogus')]],
      [
        'Q-02: all of them, in order',
        `fieldValidation=x&dryRun=x&fieldManager=${'m'.repeat(200)}`,
        [TOO_LONG, DRY_RUN('["x"]'), VALIDATION('x')],
      ],
    ])('%s is 422', async (_, query, causes) => {
      const texts = causes.map(([field, , message]) => `${field}: ${message}`);
      expectStatus(await ask(query), {
        code: 422,
        reason: 'Invalid',
        message: `CreateOptions.meta.k8s.io "" is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`}`,
        details: {
          group: 'meta.k8s.io',
          kind: 'CreateOptions',
          causes: causes.map(([field, reason, message]) => ({ reason, message, field })),
        },
      });
    });

    it.each<[string, string]>([
      ['decision 4: a manager of 127 characters', `fieldManager=${'m'.repeat(127)}`],
      ['decision 4: counted in characters', `fieldManager=${encodeURIComponent('\u00fc'.repeat(127))}`],
      ['Q-05: a space in it', 'fieldManager=a%20b'],
      ['Q-03: All twice', 'dryRun=All&dryRun=All'],
      ['Q-06: an empty fieldValidation', 'fieldValidation='],
      ['Q-01: an unknown parameter', 'nonsense=1&__proto__=1&constructor=1'],
      ['Q-01: parameters in another case', 'DryRun=x&FieldManager=%01&FIELDVALIDATION=x'],
      ['C-07: a timeout', 'timeout=10s'],
    ])('%s is fine', async (_, query) => {
      expect((await ask(query)).code).toBe(201);
    });

    it.each(['fieldValidation', 'fieldManager', 'pretty', 'timeout'])('Q-01: %s given twice is 400', async (name) => {
      expectStatus(await ask(`${name}=Warn&${name}=x`), {
        code: 400,
        reason: 'BadRequest',
        message: `the query parameter "${name}" must be given once`,
      });
    });

    it('C-07: a timeout that cannot be parsed is 400, before authentication', async () => {
      const answer = await post(server, ASK, { path: `${tokenPath()}?timeout=abc`, token: null });
      expectStatus(answer, {
        code: 400,
        reason: 'BadRequest',
        message: 'invalid timeout specified in the request URL - time: invalid duration "abc"',
      });
    });
  });

  describe('pretty', () => {
    const isPretty = ({ text }: Answer): boolean => text.startsWith('{\n  "kind": "') && text.endsWith('\n}');
    const isCompact = ({ text }: Answer): boolean => text.startsWith('{"kind":"') && text.endsWith('}\n');

    it.each<[string, string, Record<string, string>, boolean]>([
      ...['1', 't', 'T', 'TRUE', 'true', 'True'].map(
        (v) => [`?pretty=${v}`, `pretty=${v}`, {}, true] as [string, string, Record<string, string>, boolean],
      ),
      ['?pretty=yes is no boolean', 'pretty=yes', {}, false],
      ['?pretty=false beats the user agent', 'pretty=false', { 'User-Agent': 'curl/8' }, false],
      ['curl', '', { 'User-Agent': 'curl/8.5.0' }, true],
      ['Wget', '', { 'User-Agent': 'Wget/1.21' }, true],
      ['a browser', '', { 'User-Agent': 'Mozilla/5.0 (X11)' }, true],
      ['?pretty= leaves it to the user agent', 'pretty=', { 'User-Agent': 'curl/8' }, true],
      ['kubectl', '', { 'User-Agent': 'kubectl/v1.36.4 (linux/amd64) kubernetes/abcdefg' }, false],
      ['pretty=1 in Accept', '', { Accept: 'application/json;pretty=1' }, true],
    ])('Q-10: %s', async (_, query, headers, pretty) => {
      const granted = await ask(query, ASK, headers);
      expect(granted.code).toBe(201);
      expect([isPretty(granted), isCompact(granted)]).toEqual([pretty, !pretty]);
      const refused = await ask(query, {}, headers);
      expect(refused.code).toBe(422);
      expect([isPretty(refused), isCompact(refused)], 'Q-11').toEqual([pretty, !pretty]);
    });

    it('Q-11: never YAML', async () => {
      const { text } = await ask('pretty=true', ASK, { Accept: 'application/yaml' });
      expect(text).toMatch(/^apiVersion: authentication\.k8s\.io\/v1\nkind: TokenRequest\n/);
    });
  });

  /** Unknown and repeated fields: a body, and its warnings in order. */
  const VIOLATIONS: readonly (readonly [string, string, readonly string[]])[] = [
    ['S-02: an unknown field', '{"spec":{"audiences":[],"x":1}}', ['unknown field "spec.x"']],
    [
      'S-02: in a list',
      '{"metadata":{"ownerReferences":[{},{"x":1}]},"spec":{"audiences":[]}}',
      ['unknown field "metadata.ownerReferences[1].x"'],
    ],
    ['S-09: a repeated field', '{"spec":{},"spec":{"audiences":[]}}', ['duplicate field "spec"']],
    [
      'S-04: both, in the order of the document',
      '{"a":1,"spec":{"expirationSeconds":1,"b":1,"expirationSeconds":700,"audiences":[]},"c":1}',
      ['unknown field "a"', 'unknown field "spec.b"', 'duplicate field "spec.expirationSeconds"', 'unknown field "c"'],
    ],
    [
      'S-03: an unknown object is one field, and its copies are one',
      '{"x":{"y":1,"y":2},"x":1,"spec":{"audiences":[]}}',
      ['unknown field "x"'],
    ],
    ['S-01: another case is another field', '{"Spec":{},"spec":{"audiences":[]}}', ['unknown field "Spec"']],
    [
      'S-01: also of kind, though it is heard',
      '{"Kind":"TokenRequest","spec":{"audiences":[]}}',
      ['unknown field "Kind"'],
    ],
    [
      'S-02: a repeated label',
      '{"metadata":{"labels":{"a":"1","a":"2"}},"spec":{"audiences":[]}}',
      ['duplicate field "metadata.labels.a"'],
    ],
    ['C-B: __proto__', '{"__proto__":{"admin":true},"spec":{"audiences":[]}}', ['unknown field "__proto__"']],
    [
      'C-B: constructor',
      '{"constructor":{"prototype":{"x":1}},"spec":{"__proto__":{"audiences":["x"]},"audiences":[]}}',
      ['unknown field "constructor"', 'unknown field "spec.__proto__"'],
    ],
    ['W-01: quotes are escaped', '{"a\\"b\\\\":1,"spec":{"audiences":[]}}', ['unknown field "a\\"b\\\\"']],
  ];

  describe('C-B: unknown and repeated fields', () => {
    it.each(VIOLATIONS)('%s', async (_, body, expected) => {
      for (const query of ['', 'fieldValidation=Warn']) {
        const warned = await ask(query, body);
        expect(warned.code).toBe(201);
        expect(warned.warnings, 'Q-07').toEqual(expected);
        expect(warned.json.spec.audiences).toEqual([`${server.url}/orchestrator/alpha`]);
      }
      const ignored = await ask('fieldValidation=Ignore', body);
      expect([ignored.code, ignored.warnings]).toEqual([201, []]);
      const strict = await ask('fieldValidation=Strict', body);
      expectStatus(strict, {
        code: 400,
        reason: 'BadRequest',
        message: `TokenRequest in version "v1" cannot be handled as a TokenRequest: strict decoding error: ${expected.join(', ')}`,
      });
      expect(strict.warnings).toEqual([]);
    });

    it('S-06: a body without faults is accepted with Strict', async () => {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', ...ASK };
      expect((await ask('fieldValidation=Strict', body)).code).toBe(201);
    });

    it('S-09: the last of several counts', async () => {
      const { json } = await ask(
        '',
        '{"spec":{"audiences":["a"],"audiences":["b"],"expirationSeconds":1,"expirationSeconds":700}}',
      );
      expect(json.spec).toMatchObject({ audiences: ['b'], expirationSeconds: 700 });
    });

    it('S-03: at most 100 are counted', async () => {
      const body = `{${Array.from({ length: 150 }, (_, index) => `"f${index}":1`).join(',')},"spec":{"audiences":[]}}`;
      const { json } = await ask('fieldValidation=Strict', body);
      expect(json.message.match(/unknown field/g)).toHaveLength(100);
      expect(json.message).toMatch(/unknown field "f99"$/);
    });

    it('S-07: YAML reports repeated keys first, then unknown fields by name', async () => {
      const body = 'z: 1\nspec:\n  audiences: [a]\n  expirationSeconds: 600\n  expirationSeconds: 700\na: 1\n';
      const headers = { 'Content-Type': 'application/yaml' };
      const lines = ['line 5: key "expirationSeconds" already set in map', 'unknown field "a"', 'unknown field "z"'];
      const warned = await ask('', body, headers);
      expect([warned.code, warned.warnings]).toEqual([201, lines]);
      expect(warned.json.spec).toMatchObject({ audiences: ['a'], expirationSeconds: 700 });
      expectStatus(await ask('fieldValidation=Strict', body, headers), {
        code: 400,
        reason: 'BadRequest',
        message: `TokenRequest in version "v1" cannot be handled as a TokenRequest: strict decoding error: yaml: unmarshal errors:\n  ${lines.join(', ')}`,
      });
    });
  });

  describe('warnings', () => {
    it('W-05: are sent with an error, too', async () => {
      const answer = await post(server, { x: 1, ...ASK }, { path: tokenPath('nobody') });
      expect([answer.code, answer.warnings]).toEqual([404, ['unknown field "x"']]);
    });

    it('W-06: decoding first, then the clamp', async () => {
      const { warnings } = await ask('', { spec: { audiences: [], expirationSeconds: 99999 }, x: 1 });
      expect(warnings).toEqual([
        'unknown field "x"',
        'requested expiration of 99999 seconds shortened to 7200 seconds',
      ]);
    });

    it('W-02, C-B: line breaks in a field name are quoted and inject no header', async () => {
      const { code, headers, warnings } = await ask('', '{"a\\r\\nSet-Cookie: x=1":1,"spec":{"audiences":[]}}');
      expect(code).toBe(201);
      expect(headers.get('set-cookie')).toBeNull();
      expect(warnings).toEqual(['unknown field "a\\r\\nSet-Cookie: x=1"']);
    });

    it('W-01: other alphabets are sent as UTF-8', async () => {
      const { warnings } = await ask('', { '\u00fc\u{1f600}': 1, ...ASK });
      expect(warnings.map((text) => Buffer.from(text, 'latin1').toString())).toEqual([
        'unknown field "\u00fc\u{1f600}"',
      ]);
    });

    it('W-04: beyond 4,096 characters they are cut to 256 each, and then dropped', async () => {
      const names = Array.from({ length: 40 }, (_, index) => `${index}-${'x'.repeat(250)}`.slice(0, 250));
      const body = { ...Object.fromEntries(names.map((name) => [name, 1])), ...ASK };
      const { code, warnings } = await ask('', body);
      expect(code).toBe(201);
      expect(warnings).toHaveLength(16);
      for (const [index, text] of warnings.entries()) {
        expect(text).toBe(`unknown field "${names[index]}"`.slice(0, 256));
      }
    });
  });
});

describe('the contract of kube-apiserver', () => {
  /** Facts about the whole token operation: its path, its response, and what it leaves out. */

  const POD = { kind: 'Pod', apiVersion: 'v1', name: 'web-0' };

  describe('the operation', () => {
    it('T-01: is a create in the core group, of an object of the authentication group', async () => {
      const { json } = await server.call('GET', '/orchestrator/alpha/api/v1');
      const entry = json.resources.find(({ name }: { name: string }) => name === 'serviceaccounts/token');
      expect(entry).toEqual({
        name: 'serviceaccounts/token',
        singularName: '',
        namespaced: true,
        group: 'authentication.k8s.io',
        version: 'v1',
        kind: 'TokenRequest',
        verbs: ['create'],
      });
      const answer = await post(server, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', ...ASK });
      expect([answer.code, answer.json.apiVersion, answer.json.kind]).toEqual([
        201,
        'authentication.k8s.io/v1',
        'TokenRequest',
      ]);
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        const body = method === 'GET' ? undefined : ASK;
        expectStatus(await server.call(method, tokenPath(), { body }), {
          code: 405,
          reason: 'MethodNotAllowed',
          message: 'the server does not allow this method on the requested resource',
          details: {},
        });
      }
    });

    it('T-02: exists in every cluster as soon as the cluster is created: each has an issuer', async () => {
      await createCluster(server, 'gamma');
      await createNamespace(server, 'ci', 'gamma');
      await createAccount(server, 'builder', 'ci', 'gamma');
      const { code, json } = await post(server, ASK, { path: tokenPath('builder', 'ci', 'gamma') });
      expect(code).toBe(201);
      expect(decodeJwt(json.status.token).iss).toBe(`${server.url}/orchestrator/gamma`);
    });

    it('W-07: nothing is deprecated, so there is no such warning', async () => {
      for (const path of [
        '/auth/v1/clusters',
        '/apis/clusterregistry.k8s.io/v1alpha1/clusters',
        '/apis/clusterregistry.k8s.io/v1alpha1/clusters/alpha',
        '/orchestrator/alpha/api/v1/namespaces/ci/pods',
        '/apis/rbac.authorization.k8s.io/v1/clusterroles',
        '/apis/clusterregistry.k8s.io/v1alpha1/watch/clusters?timeoutSeconds=1',
      ]) {
        const { code, headers } = await server.call('GET', path);
        expect([path, code, headers.get('warning')]).toEqual([path, 200, null]);
      }
      expect((await post(server, ASK)).headers.get('warning')).toBeNull();
    });
  });

  describe('what kube-apiserver adds and Clusterpass does not', () => {
    it('T-08, decision 7: managedFields, for every value of fieldManager', async () => {
      const managedFields = [{ manager: 'me', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' }];
      for (const [path, metadata] of [
        [tokenPath(), {}],
        [`${tokenPath()}?fieldManager=me`, {}],
        [`${tokenPath()}?fieldManager=me`, { managedFields }],
      ] as const) {
        const { code, json, text } = await post(server, { metadata, ...ASK }, { path });
        expect([code, Object.keys(json.metadata)]).toEqual([201, ['name', 'namespace', 'uid', 'creationTimestamp']]);
        expect(text).not.toContain('managedFields');
      }
    });

    it('T-11, decision 3: a token in a dry run', async () => {
      const path = `${tokenPath()}?dryRun=All`;
      const { code, json } = await post(server, { spec: { audiences: ['vault'], expirationSeconds: 700 } }, { path });
      expect(code).toBe(201);
      expect(json.metadata).toMatchObject({ name: 'builder', namespace: 'ci', uid: uids.builder });
      expect(json.spec).toEqual({ audiences: ['vault'], expirationSeconds: 700, boundObjectRef: null });
      expect(Object.keys(json.status)).toEqual(['token', 'expirationTimestamp']);
      expect(json.status.token).toBe('');
      const created = Date.parse(json.metadata.creationTimestamp);
      expect(Date.parse(json.status.expirationTimestamp)).toBe(created + 700_000);
    });

    it.each([
      ['by name', { kind: 'Node', apiVersion: 'v1', name: 'node-1' }],
      ['by name and uid', { kind: 'Node', apiVersion: 'v1', name: 'node-1', uid: 'x' }],
      ['without a name', { kind: 'Node', apiVersion: 'v1' }],
    ])('T-33, decision 5: a binding to a node, %s', async (_, boundObjectRef) => {
      const answer = await post(server, { spec: { audiences: [], boundObjectRef } });
      expectStatus(answer, badRequest('cannot bind token to object of type /v1, Kind=Node'));
    });

    it('T-21: the node of a pod: only its name is in the token', async () => {
      const { code, json } = await post(server, { spec: { audiences: [], boundObjectRef: POD } });
      expect(code).toBe(201);
      const claims = decodeJwt<{ 'kubernetes.io': { node: object } }>(json.status.token);
      expect(claims['kubernetes.io'].node).toEqual({ name: 'node-1' });
    });

    it('T-28, K-22, decision 6: a second, longer lifetime', async () => {
      const { json } = await post(server, {
        spec: { audiences: [], expirationSeconds: 3607, boundObjectRef: POD },
      });
      const { exp = 0, iat = 0, ...claims } = decodeJwt(json.status.token);
      expect(exp - iat).toBe(3607);
      expect(Object.keys(claims['kubernetes.io'] as object)).toEqual(['namespace', 'node', 'pod', 'serviceaccount']);
    });
  });

  describe('T-12: the order of the checks around the parsing of the body', () => {
    const UNKNOWN = '{"spec":{"audiences":[]},"extra":1}';
    const options = (value: string, field: string, supported: string) => ({
      code: 422,
      reason: 'Invalid',
      message: `CreateOptions.meta.k8s.io "" is invalid: ${field}: Unsupported value: ${value}: supported values: ${supported}`,
      details: {
        group: 'meta.k8s.io',
        kind: 'CreateOptions',
        causes: [
          {
            reason: 'FieldValueNotSupported',
            message: `Unsupported value: ${value}: supported values: ${supported}`,
            field,
          },
        ],
      },
    });

    it('T-12e: options come after the size of the body', async () => {
      const answer = await post(server, 'x'.repeat(3_145_729), { path: `${tokenPath()}?dryRun=x` });
      expect(answer.code).toBe(413);
    });

    it('T-12e: options come before the content of the body', async () => {
      for (const body of ['', '{', '[]', '{"apiVersion":"v1","kind":"Pod"}', UNKNOWN]) {
        expectStatus(
          await post(server, body, { path: `${tokenPath()}?dryRun=x` }),
          options('["x"]', 'dryRun', '"All"'),
        );
      }
    });

    it('T-12e: options come before the existence of the objects in the path', async () => {
      const path = `${tokenPath('nobody', 'gone', 'gone')}?fieldValidation=strict`;
      expectStatus(
        await post(server, ASK, { path }),
        options('"strict"', 'fieldValidation', '"", "Ignore", "Strict", "Warn"'),
      );
    });

    const STRICT = badRequest(
      'TokenRequest in version "v1" cannot be handled as a TokenRequest: strict decoding error: unknown field "extra"',
    );

    it.each([
      ['the namespace in it', tokenPath(), { metadata: { namespace: 'x' } }],
      ['the namespace of the path', tokenPath('builder', 'gone'), {}],
      ['the name in it', tokenPath(), { metadata: { name: 'x' } }],
      ['the account', tokenPath('nobody'), {}],
      ['its spec', tokenPath(), { spec: { audiences: [], expirationSeconds: 1 } }],
    ])('T-12f: strict decoding comes before %s', async (_, path, body) => {
      const answer = await post(server, { ...ASK, ...body, extra: 1 }, { path: `${path}?fieldValidation=Strict` });
      expectStatus(answer, STRICT);
    });

    it('T-12f: a value of the wrong type comes before an unknown field', async () => {
      const body = '{"extra":1,"spec":{"audiences":[],"expirationSeconds":"x"}}';
      expectStatus(
        await post(server, body, { path: `${tokenPath()}?fieldValidation=Strict` }),
        badRequest(
          'TokenRequest in version "v1" cannot be handled as a TokenRequest: json: cannot unmarshal string into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64',
        ),
      );
    });
  });
});

describe('values that a caller can know before a request, and require', () => {
  /** What a caller can know about a token before the request, and require in it. */

  const MIN = 'clusterpass.dev/min-expiration-seconds';
  const FOR = 'clusterpass.dev/for';

  let published: Record<string, string>;

  beforeAll(async () => {
    const query = '?fieldSelector=metadata.name%3Dalpha';
    const [alpha] = (await server.call('GET', `/auth/v1/clusters${query}`)).json.items;
    published = alpha.metadata.annotations;
  });

  const ask = (annotations: Record<string, string>, spec: object = {}, path = tokenPath()) =>
    post(server, { metadata: { annotations }, spec: { audiences: [], ...spec } }, { path });

  /** T-14: the name is empty. */
  const refused = (field: string, said: string) => ({
    code: 422,
    reason: 'Invalid',
    message: `TokenRequest.authentication.k8s.io "" is invalid: ${field}: ${said}`,
    details: {
      group: 'authentication.k8s.io',
      kind: 'TokenRequest',
      causes: [{ reason: expect.stringMatching(/^FieldValue/), message: said, field }],
    },
  });

  describe('the published values of a cluster', () => {
    it('are those of its tokens: the issuer, the audience and the longest lifetime', async () => {
      const { json, warnings } = await ask({}, { expirationSeconds: 100_000 });
      const claims = decodeJwt(json.status.token);
      expect(claims.iss).toBe(published['clusterpass.dev/issuer']);
      expect(claims.aud).toEqual([published['clusterpass.dev/audience']]);
      const longest = Number(published['clusterpass.dev/max-expiration-seconds']);
      expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(longest);
      expect(warnings).toEqual([`requested expiration of 100000 seconds shortened to ${longest} seconds`]);
    });

    it('decision 3: a dry run says what will be granted, and signs nothing', async () => {
      const path = `${tokenPath()}?dryRun=All`;
      const spec = { expirationSeconds: 100_000 };
      const before = Date.now();
      const { json, warnings } = await ask({ [MIN]: '7200' }, spec, path);
      const granted = Date.parse(json.status.expirationTimestamp) - 7_200_000;
      expect(granted).toBeGreaterThan(before - 1_000);
      expect(granted).toBeLessThanOrEqual(Date.now());
      expect([json.spec.expirationSeconds, json.status.token]).toEqual([7200, '']);
      expect(warnings).toHaveLength(1);
      expect((await ask({ [MIN]: '7201' }, spec, path)).code).toBe(422);
    });
  });

  describe('a minimal lifetime', () => {
    it('is granted, or the request fails and nothing is shortened', async () => {
      expect((await ask({ [MIN]: '7200' }, { expirationSeconds: 100_000 })).code).toBe(201);
      const answer = await ask({ [MIN]: '7201' }, { expirationSeconds: 100_000 });
      expectStatus(
        answer,
        refused(
          `metadata.annotations[${MIN}]`,
          'Invalid value: 7201: the longest lifetime that is granted here is 7200 seconds',
        ),
      );
      expect(answer.warnings).toEqual([]);
    });

    it('cannot be more than the requested lifetime, which is an hour by default', async () => {
      for (const spec of [{}, { expirationSeconds: 3600 }]) {
        expectStatus(
          await ask({ [MIN]: '3601' }, spec),
          refused(
            `metadata.annotations[${MIN}]`,
            'Invalid value: 3601: must not be more than spec.expirationSeconds, which is 3600',
          ),
        );
      }
    });

    it('that cannot be parsed is reported together with the other errors', async () => {
      const { code, json } = await ask({ [MIN]: '8h', [FOR]: 'vault' }, { expirationSeconds: 1 });
      expect(code).toBe(422);
      expect(json.details.causes.map(({ field }: { field: string }) => field)).toEqual([
        'spec.expirationSeconds',
        `metadata.annotations[${MIN}]`,
        `metadata.annotations[${FOR}]`,
      ]);
      expect(json.message).toContain(`must be a whole number of seconds between 1 and 4294967296, e.g. "3600"`);
      expect(json.message).toContain(`Unsupported value: "vault": supported values: "cluster"`);
    });

    it('counts in a protobuf body as well', async () => {
      const body = envelope(
        'authentication.k8s.io/v1',
        'TokenRequest',
        message({ 1: { 12: [{ 1: MIN, 2: '9000' }] }, 2: { 4: 10_000 } }),
      );
      const headers = { 'Content-Type': 'application/vnd.kubernetes.protobuf' };
      expect((await server.call('POST', tokenPath(), { body, headers })).code).toBe(422);
    });
  });

  describe('a token for the cluster', () => {
    const api = (): string => `${server.url}/orchestrator/alpha`;
    const warning = () =>
      `this token will not open the API of cluster "alpha": its audiences do not include "${api()}"`;

    it('comes with a warning when the cluster will not accept it', async () => {
      const answer = await ask({ [FOR]: 'cluster' }, { audiences: ['vault'] });
      expect([answer.code, answer.warnings]).toEqual([201, [warning()]]);
      const dry = await ask({ [FOR]: 'cluster' }, { audiences: ['vault'] }, `${tokenPath()}?dryRun=All`);
      expect(dry.warnings).toEqual([warning()]);
    });

    it('comes without a warning when the cluster will accept it, or when the request does not name that purpose', async () => {
      expect((await ask({ [FOR]: 'cluster' })).warnings).toEqual([]);
      expect((await ask({ [FOR]: 'cluster' }, { audiences: ['vault', api()] })).warnings).toEqual([]);
      expect((await ask({}, { audiences: ['vault'] })).warnings).toEqual([]);
    });
  });

  it('a misspelled annotation is 422 with the key that was meant; annotations of others are repeated', async () => {
    const refused = await ask({ 'clusterpass.dev/min-expiration': '86400' });
    expect([refused.code, refused.json.details.causes]).toEqual([
      422,
      [
        {
          reason: 'FieldValueInvalid',
          message:
            'Invalid value: "clusterpass.dev/min-expiration": is not an annotation of a TokenRequest; ' +
            'did you mean "clusterpass.dev/min-expiration-seconds"?',
          field: 'metadata.annotations[clusterpass.dev/min-expiration]',
        },
      ],
    ]);
    const { code, json } = await ask({ 'example.com/note': 'x' });
    expect([code, json.metadata.annotations]).toEqual([201, { 'example.com/note': 'x' }]);
  });
});
