import { get } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { ApiResponse, ListResponse } from '../../api/request.ts';
import { notFound } from '../../api/status.ts';
import { CLUSTERS_PATH, startFixture } from '../http.fixture.ts';
import { CHUNK_BYTES } from './body-writer.ts';
import { listChunks } from './list-body.ts';

const path = `${CLUSTERS_PATH}/x`;
const value = (content: unknown): ApiResponse => ({ type: 'value', code: 200, value: content });
const items = (count: number, size: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => Buffer.from(JSON.stringify({ index, text: 'x'.repeat(size) })));
const list = (content: readonly Uint8Array[]): ListResponse => ({
  type: 'list',
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'ClusterList',
  metadata: { continue: '', resourceVersion: '1' },
  items: content,
  style: 'custom',
});

const textOf = (content: ListResponse): string =>
  Buffer.concat([...listChunks(content, 'compact')].filter((chunk) => chunk !== undefined)).toString();
/** A third of a megabyte. */
const pageOf = (letter: string): Uint8Array[] =>
  Array.from({ length: 130 }, (_, index) => Buffer.from(JSON.stringify({ index, text: letter.repeat(2500) })));

/** Asks for a list, and goes when the first of it comes. */
const leaveEarly = (port: number): Promise<number | undefined> =>
  new Promise((resolve) => {
    get({ port, path: CLUSTERS_PATH, headers: { authorization: 'Bearer admin' } }, (res) => {
      res.once('data', () => {
        res.destroy();
        resolve(res.statusCode);
      });
      res.on('error', () => {});
    }).on('error', () => {});
  });

describe('one object', () => {
  test('N-08, C-06, F-13: bare type, no caching, one newline', async () => {
    const { send } = await startFixture(() => value({ b: 1, a: '<' }));
    const reply = await send({ path });
    expect(reply.text, 'F-12').toBe('{"b":1,"a":"\\u003c"}\n');
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-cache, private',
      'content-length': String(reply.bytes.length),
    });
    expect(reply.headers['x-content-type-options']).toBeUndefined();
    expect(reply.rawHeaders).toContain('Audit-Id');
  });

  test('F-13, Q-10: pretty has two spaces and no newline', async () => {
    const { send } = await startFixture(() => ({ type: 'json', code: 201, json: Buffer.from('{"b":{},"a":[1]}') }));
    const pretty = '{\n  "b": {},\n  "a": [\n    1\n  ]\n}';
    expect(await send({ path: `${path}?pretty=true` })).toMatchObject({ code: 201, text: pretty });
    expect((await send({ path, headers: { 'user-agent': 'curl/8.0' } })).text).toBe(pretty);
    expect((await send({ path, headers: { accept: 'application/json;pretty=1' } })).text).toBe(pretty);
    expect((await send({ path })).text).toBe('{"b":{},"a":[1]}\n');
  });

  test('N-01: YAML, never pretty', async () => {
    const { send } = await startFixture(() => ({ type: 'json', code: 200, json: Buffer.from('{"b":1,"a":"x"}') }));
    const reply = await send({ path: `${path}?pretty=1`, headers: { accept: 'application/yaml' } });
    expect(reply.text).toBe('a: x\nb: 1\n');
    expect(reply.headers['content-type']).toBe('application/yaml');
  });

  test('N-09: gzip above 131072 bytes only', async () => {
    const { send } = await startFixture(({ query }) => value('x'.repeat(Number(query.get('n')))));
    const headers = { 'accept-encoding': 'gzip' };
    const small = await send({ path: `${path}?n=131069`, headers });
    expect(small.headers['content-encoding']).toBeUndefined();
    expect(small.bytes.length).toBe(131_072);
    const large = await send({ path: `${path}?n=131070`, headers });
    expect(large.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(gunzipSync(large.bytes).length).toBe(131_073);
    // RFC 1952 section 2.3.1: 4 means the fastest algorithm.
    expect(large.bytes[8]).toBe(4);
    const plain = await send({ path: `${path}?n=131070`, headers: { 'accept-encoding': 'gzip;q=1.0' } });
    expect(plain.bytes.length).toBe(131_073);
  });

  test.each<[string, object]>([
    ['text', { note: 'x'.repeat(70_000), a: [1, { b: null }] }],
    ['parts', { note: 'x', a: Array.from({ length: 1_000 }, () => ({})) }],
  ])('YAML of an object with much %s', async (_, content) => {
    const { send } = await startFixture(() => value(content));
    const reply = await send({ path, headers: { accept: 'application/yaml' } });
    expect(reply.headers['content-type']).toBe('application/yaml');
    expect(reply.text.startsWith('a:\n- ')).toBe(true);
    expect(parse(reply.text)).toEqual(content);
  });
});

describe('errors', () => {
  test('decision 11, Q-11: always JSON, indented when asked', async () => {
    const { send } = await startFixture(() => {
      throw notFound({ group: 'g', resource: 'things' }, 'x');
    });
    const yaml = await send({ path, headers: { accept: 'application/yaml' } });
    expect(yaml.headers['content-type']).toBe('application/json');
    expect(yaml.json().code).toBe(404);
    const pretty = await send({ path: `${path}?pretty=1` });
    expect(pretty.text).toMatch(/^\{\n {2}"kind": "Status",\n.*\}$/s);
    const unknown = await send({ path, token: '', headers: { 'user-agent': 'curl/8' } });
    expect(unknown.text).toMatch(/^\{\n {2}"kind"/);
    expect((await send({ path, token: '', headers: { accept: 'application/json;pretty=1' } })).text).toMatch(/^\{\n/);
  });

  test('F-11, N-05: 406 is indented', async () => {
    const { send } = await startFixture();
    const reply = await send({ path, headers: { accept: 'text/html' } });
    expect(reply.code).toBe(406);
    expect(reply.text).toMatch(/^\{\n {2}"kind": "Status".*\}$/s);
  });
});

test('W-01: one header line per warning, beyond Latin-1 too', async () => {
  const { send } = await startFixture((request) => {
    request.warn('unknown field "\u4f60\u597d"');
    request.warn('a\r\nSet-Cookie: x=y');
    request.warn('second');
    return value({ text: '\u4f60' });
  });
  const reply = await send({ path });
  const warnings = reply.rawHeaders.filter((_, index) => reply.rawHeaders[index - 1] === 'Warning');
  expect(warnings.map((line) => Buffer.from(line, 'latin1').toString())).toEqual([
    '299 - "unknown field \\"\u4f60\u597d\\""',
    '299 - "second"',
  ]);
  expect(reply.headers['set-cookie']).toBeUndefined();
  expect(reply.json()).toEqual({ text: '\u4f60' });
});

describe('lists', () => {
  test('a large one arrives whole in every form', async () => {
    const content = items(3000, 1000);
    const { send } = await startFixture(() => list(content));
    const compact = await send({ path: CLUSTERS_PATH });
    expect(compact.headers['content-length']).toBe(String(compact.bytes.length));
    expect(compact.headers['transfer-encoding']).toBeUndefined();
    const expected = compact.json();
    expect(expected.items).toHaveLength(3000);
    const pretty = await send({ path: `${CLUSTERS_PATH}?pretty=1` });
    expect(pretty.text).toBe(JSON.stringify(expected, null, 2));
    const gzip = await send({ path: CLUSTERS_PATH, headers: { 'accept-encoding': 'gzip' } });
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.bytes).equals(compact.bytes)).toBe(true);
    const head = await send({ method: 'HEAD', path: CLUSTERS_PATH });
    expect(head.headers['content-length']).toBe(String(compact.bytes.length));
  });

  test('buffers that are used again never mix the answers of several clients, whichever of them leaves', async () => {
    // More lists at once than the pool keeps buffers, each with another text.
    const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR'];
    const { send, port, records } = await startFixture(({ query }) => list(pageOf(query.get('letter') ?? '-')));
    const ask = async (letter: string): Promise<void> => {
      const reply = await send({ path: `${CLUSTERS_PATH}?letter=${letter}` });
      expect(reply.bytes.length).toBeGreaterThan(CHUNK_BYTES);
      expect(reply.json()).toEqual(JSON.parse(textOf(list(pageOf(letter)))));
    };
    await Promise.all(letters.map(ask));
    await Promise.all(letters.map((letter) => (letter < 'Q' ? ask(letter) : leaveEarly(port))));
    await expect.poll(() => records.length).toBe(2 * letters.length);
    await Promise.all(letters.map(ask));
  });
});
