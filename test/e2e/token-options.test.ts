import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { type Answer, type Server, startServer } from './support/server.ts';
import { ASK, createWorld, post, tokenPath } from './support/token-world.ts';

/** Query parameters of the token request, fields it does not know, and the warnings that follow. */

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createWorld(server);
});
afterAll(() => server.destroy());

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
    ['Q-01: the first of several counts', 'fieldValidation=x&fieldValidation=Warn', [VALIDATION('x')]],
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
    ['Q-01: the first of several', 'fieldValidation=Warn&fieldValidation=x'],
    ['C-07: a timeout', 'timeout=10s'],
  ])('%s is fine', async (_, query) => {
    expect((await ask(query)).code).toBe(201);
  });

  it('C-07: a timeout that can not be read is 400, before anyone asks who is calling', async () => {
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

/** Unknown and repeated fields: one body, what Warn says of it, in order. */
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

  it('S-06: a faultless body passes Strict', async () => {
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
  it('W-05: survive onto an error', async () => {
    const answer = await post(server, { x: 1, ...ASK }, { path: tokenPath('nobody') });
    expect([answer.code, answer.warnings]).toEqual([404, ['unknown field "x"']]);
  });

  it('W-06: decoding first, then the clamp', async () => {
    const { warnings } = await ask('', { spec: { audiences: [], expirationSeconds: 99999 }, x: 1 });
    expect(warnings).toEqual(['unknown field "x"', 'requested expiration of 99999 seconds shortened to 86400 seconds']);
  });

  it('W-02, C-B: line breaks in a field name are quoted and inject no header', async () => {
    const { code, headers, warnings } = await ask('', '{"a\\r\\nSet-Cookie: x=1":1,"spec":{"audiences":[]}}');
    expect(code).toBe(201);
    expect(headers.get('set-cookie')).toBeNull();
    expect(warnings).toEqual(['unknown field "a\\r\\nSet-Cookie: x=1"']);
  });

  it('W-01: other alphabets go out as UTF-8', async () => {
    const { warnings } = await ask('', { '\u00fc\u{1f600}': 1, ...ASK });
    expect(warnings.map((text) => Buffer.from(text, 'latin1').toString())).toEqual(['unknown field "\u00fc\u{1f600}"']);
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
