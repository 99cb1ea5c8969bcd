import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { expectStatus } from './support/expect-status.ts';
import { createHomes, KINDS, type KindCase, kindCase, kindDetails, objectOf } from './support/kinds.ts';
import { type Server, startServer } from './support/server.ts';
import { create } from './support/token-world.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createHomes(server);
});
afterAll(() => server.destroy());

const YAML = 'application/yaml';
const named = (of: KindCase, name: string) => `${of.path}/${name}`;
const versionOf = (of: KindCase): string => of.apiVersion.split('/').at(-1) ?? '';
/** The object with unknown and repeated fields, as text. */
const sloppy = (of: KindCase, name: string): string => {
  const { metadata, ...rest } = objectOf(of, { name });
  const body = JSON.stringify({ ...rest, bogus: 1, metadata: { ...metadata, extra: true } });
  return body.replace('"metadata":{', '"metadata":{"labels":{"a":"1","a":"2"},');
};

describe.each(KINDS)('$kind', (of) => {
  it('travels as YAML both ways', async () => {
    const made = await server.call('POST', of.path, {
      body: stringify(objectOf(of, { name: 'yaml', labels: { number: '1', yes: 'true' } })),
      headers: { 'Content-Type': YAML, Accept: YAML },
    });
    expect(made.code, made.text).toBe(201);
    expect(made.headers.get('content-type')).toBe(YAML);
    const json = await server.call('GET', named(of, 'yaml'));
    expect(json.headers.get('content-type')).toBe('application/json');
    expect(parse(made.text)).toEqual(json.json);
    expect(json.json.metadata.labels).toEqual({ number: '1', yes: 'true' });
    const list = await server.call('GET', `${of.path}?labelSelector=number`, { headers: { Accept: YAML } });
    expect(parse(list.text).items.map((item: { metadata: object }) => item.metadata)).toEqual([json.json.metadata]);
    const put = await server.call('PUT', named(of, 'yaml'), {
      body: stringify({ ...json.json, ...of.changed }),
      headers: { 'Content-Type': YAML },
    });
    expect(put.code, put.text).toBe(200);
    expect(put.json).toMatchObject(of.changed);
    const missing = await server.call('GET', named(of, 'absent'), { headers: { Accept: YAML } });
    // Decision 11: an error is always JSON.
    expect(missing.headers.get('content-type')).toBe('application/json');
    expect(missing.json).toMatchObject({ kind: 'Status', code: 404, reason: 'NotFound' });
  });

  it('F-13, Q-10: is one line, or indented when asked', async () => {
    const { text } = await server.call('POST', of.path, { body: JSON.stringify(objectOf(of, { name: 'pretty' })) });
    expect(text).toMatch(/^[^\n]+\n$/);
    const value = JSON.parse(text);
    for (const path of [`${named(of, 'pretty')}?pretty=true`, `${named(of, 'pretty')}?pretty=1`]) {
      const pretty = await server.call('GET', path);
      expect(pretty.text).toBe(JSON.stringify(value, null, 2));
    }
    const curl = await server.call('GET', named(of, 'pretty'), { headers: { 'User-Agent': 'curl/8' } });
    expect(curl.text).toBe(JSON.stringify(value, null, 2));
    const off = await server.call('GET', `${named(of, 'pretty')}?pretty=false`, {
      headers: { 'User-Agent': 'curl/8' },
    });
    expect(off.text).toBe(text);
  });

  it('fieldValidation=Ignore drops what is unknown, and keeps the last of what is repeated', async () => {
    const answer = await server.call('POST', `${of.path}?fieldValidation=Ignore`, { body: sloppy(of, 'ignored') });
    expect(answer.code, answer.text).toBe(201);
    expect(answer.warnings).toEqual([]);
    expect(answer.json.metadata.labels).toEqual({ a: '2' });
    expect(answer.text).not.toMatch(/bogus|extra/);
  });

  it('Q-07: fieldValidation=Warn says so, and is what happens by default', async () => {
    for (const [query, name] of [
      ['', 'default'],
      ['?fieldValidation=', 'empty'],
      ['?fieldValidation=Warn', 'warned'],
    ] as const) {
      const answer = await server.call('POST', `${of.path}${query}`, { body: sloppy(of, name) });
      expect(answer.code, answer.text).toBe(201);
      expect(answer.warnings.toSorted()).toEqual([
        'duplicate field "metadata.labels.a"',
        'unknown field "bogus"',
        'unknown field "metadata.extra"',
      ]);
    }
  });

  it('S-06: fieldValidation=Strict refuses, and lists everything', async () => {
    const answer = await server.call('POST', `${of.path}?fieldValidation=Strict`, { body: sloppy(of, 'strict') });
    const duplicate = 'duplicate field "metadata.labels.a"';
    const found =
      of.style === 'custom'
        ? // S-05: repeated fields, then metadata, then the rest.
          [duplicate, 'unknown field "metadata.extra"', 'unknown field "bogus"']
        : // S-04: as they come.
          ['unknown field "bogus"', duplicate, 'unknown field "metadata.extra"'];
    expectStatus(answer, {
      code: 400,
      reason: 'BadRequest',
      message: `${of.kind} in version "${versionOf(of)}" cannot be handled as a ${of.kind}: strict decoding error: ${found.join(', ')}`,
    });
    expect((await server.call('GET', named(of, 'strict'))).code).toBe(404);
  });

  it('fieldValidation counts for updates and patches too', async () => {
    const made = await create(server, of.path, objectOf(of, { name: 'checked' }));
    const put = await server.call('PUT', `${named(of, 'checked')}?fieldValidation=Strict`, {
      body: { ...made, bogus: 1 },
    });
    expect(put.code).toBe(400);
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const body = { bogus: 1, metadata: { labels: { a: 'b' } } };
    const strict = await server.call('PATCH', `${named(of, 'checked')}?fieldValidation=Strict`, { body, headers });
    expect(strict.code).toBe(400);
    expect(strict.json.message).toContain('strict decoding error: unknown field "bogus"');
    const warned = await server.call('PATCH', named(of, 'checked'), { body, headers });
    expect(warned.code).toBe(200);
    expect(warned.warnings).toEqual(['unknown field "bogus"']);
  });

  it('W-05: warnings come with errors too', async () => {
    const answer = await server.call('PATCH', named(of, 'checked'), {
      body: { bogus: 1, metadata: { labels: { '-': '-' } } },
      headers: { 'Content-Type': 'application/merge-patch+json' },
    });
    expect(answer.code).toBe(422);
    expect(answer.warnings).toEqual(['unknown field "bogus"']);
  });

  it('D-04, D-12: may leave its type out when it is built in, and only then', async () => {
    const { apiVersion: _, kind: __, ...rest } = objectOf(of, { name: 'typeless' });
    const answer = await server.call('POST', of.path, { body: rest });
    if (of.style === 'builtin') {
      expect(answer.code, answer.text).toBe(201);
      return;
    }
    const body = JSON.stringify(rest);
    expectStatus(answer, {
      code: 400,
      reason: 'BadRequest',
      message: `the object provided is unrecognized (must be of type ${of.kind}): Object 'Kind' is missing in '${body}' (${body.slice(0, 30)} ...)`,
    });
  });

  it('D-07, D-08, D-13: is not taken for another type', async () => {
    const otherVersion = { ...objectOf(of, { name: 'typed' }), apiVersion: 'example.com/v9' };
    const otherKind = { ...objectOf(of, { name: 'typed' }), kind: 'Gadget' };
    const refused = (message: string) => ({ code: 400, reason: 'BadRequest', message });
    const version = await server.call('POST', of.path, { body: otherVersion });
    const kind = await server.call('POST', of.path, { body: otherKind });
    if (of.style === 'builtin') {
      expectStatus(
        version,
        refused(
          `${of.kind} in version "v9" cannot be handled as a ${of.kind}: no kind "${of.kind}" is registered for version "example.com/v9"`,
        ),
      );
      expectStatus(
        kind,
        refused(
          `Gadget in version "${versionOf(of)}" cannot be handled as a ${of.kind}: no kind "Gadget" is registered for version "${of.apiVersion}"`,
        ),
      );
      return;
    }
    expectStatus(
      version,
      refused(
        `the API version in the data (example.com/v9) does not match the expected API version (${of.apiVersion})`,
      ),
    );
    const message = `Invalid value: "Gadget": must be ${of.kind}`;
    expectStatus(kind, {
      code: 422,
      reason: 'Invalid',
      message: `Cluster.${of.group} "typed" is invalid: kind: ${message}`,
      details: kindDetails(of, 'typed', [{ reason: 'FieldValueInvalid', message, field: 'kind' }]),
    });
  });
});

it('C-B: names of the language are only names', async () => {
  const of = kindCase('ServiceAccount');
  const body =
    '{"metadata":{"name":"proto","labels":{"__proto__":"x","constructor":"y"}},"__proto__":{"admin":true},"constructor":{"prototype":{}}}';
  const answer = await server.call('POST', of.path, { body });
  expect(answer.warnings).toEqual(['unknown field "__proto__"', 'unknown field "constructor"']);
  // A label may not begin with an underscore.
  expect(answer.code).toBe(422);
  const good = await server.call('POST', of.path, {
    body: '{"metadata":{"name":"proto","labels":{"constructor":"y","toString":"z"},"annotations":{"hasOwnProperty":"x"}}}',
  });
  expect(good.code, good.text).toBe(201);
  const { json } = await server.call('GET', named(of, 'proto'));
  expect(json.metadata.labels).toEqual({ constructor: 'y', toString: 'z' });
  expect(json.metadata.annotations).toEqual({ hasOwnProperty: 'x' });
  const patched = await server.call('PATCH', named(of, 'proto'), {
    body: '{"metadata":{"annotations":{"constructor":"x"}},"__proto__":{"polluted":true}}',
    headers: { 'Content-Type': 'application/merge-patch+json' },
  });
  expect(patched.code, patched.text).toBe(200);
  expect(patched.json.metadata.annotations).toEqual({ hasOwnProperty: 'x', constructor: 'x' });
});

it('any text survives in an annotation', async () => {
  const of = kindCase('Cluster');
  const text = '\u0000\u001f"\\<>&\u2028\u2029é😀\ud800\n';
  const made = await create(server, of.path, objectOf(of, { name: 'texts', annotations: { text } }));
  expect(made.metadata.annotations.text).toBe(text.toWellFormed());
  const { text: raw } = await server.call('GET', named(of, 'texts'));
  // F-12
  expect(raw).toContain('\\u003c\\u003e\\u0026\\u2028\\u2029é😀');
});
