import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { expectStatus } from './support/expect-status.ts';
import { sendRaw } from './support/raw-http.ts';
import { type Server, startServer } from './support/server.ts';
import { ASK, createWorld, post, tokenPath } from './support/token-world.ts';

/** In which formats a token can be asked for, and in which it is given. */

let server: Server;

beforeAll(async () => {
  server = await startServer();
  await createWorld(server);
});
afterAll(() => server.destroy());

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
      'N-07: a clause that can not be met is passed over',
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

  it('N-07: the metadata alone can be asked for', async () => {
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

  it('T-12b, T-12c: Accept is judged before the type, and the type before the size', async () => {
    const huge = 'x'.repeat(3_145_729);
    const both = { Accept: 'text/html', 'Content-Type': 'text/plain' };
    expect((await post(server, huge, { headers: both })).code).toBe(406);
    expect((await post(server, huge, { headers: { 'Content-Type': 'text/plain' } })).code).toBe(415);
    expect((await post(server, huge, { path: `${tokenPath()}?dryRun=x` })).code).toBe(413);
  });

  it('an error is JSON also for who accepts only YAML', async () => {
    expectStatus(await post(server, ASK, { path: tokenPath('nobody'), headers: { Accept: 'application/yaml' } }), {
      code: 404,
      reason: 'NotFound',
      message: 'serviceaccounts "nobody" not found',
      details: { name: 'nobody', kind: 'serviceaccounts' },
    });
  });
});
