import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { sentBody } from '../api/request.ts';
import { badRequest, tooManyRequests } from '../api/status.ts';
import { StorageError } from '../storage/contract.ts';
import { Exchange } from './exchange.ts';
import { CLUSTERS_PATH, startFixture, TOKEN_PATH } from './http.fixture.ts';
import { PIPELINES } from './pipeline.ts';

const post = { method: 'POST', path: TOKEN_PATH, headers: { 'content-type': 'application/json' }, body: '{}' };

/** The rows of the table below a heading of docs/architecture.md. */
async function documentedStages(heading: string): Promise<(string | undefined)[]> {
  const text = await readFile(new URL('../../docs/architecture.md', import.meta.url), 'utf8');
  const [, section = ''] = text.split(`\n**${heading}**`);
  const [, table = ''] = section.split('| stage | may answer | why here |\n|---|---|---|\n');
  const rows = table.slice(0, table.indexOf('\n\n')).split('\n');
  return rows.map((row) => row.split('|')[1]?.trim());
}

test('each pipeline is short, and a table of docs/architecture.md', async () => {
  expect(Object.keys(PIPELINES)).toEqual(['PUBLIC', 'FORM', 'MCP', 'RESOURCE']);
  for (const [name, { names }] of Object.entries(PIPELINES)) {
    expect(names.length).toBeLessThanOrEqual(14);
    expect(await documentedStages(name), name).toEqual(names);
  }
});

test('a stage cannot read what a later one sets', () => {
  const x = new Exchange(...([] as unknown as ConstructorParameters<typeof Exchange>));
  expect(() => x.headers).toThrow('the stage classify has not run');
  expect(() => x.info).toThrow('the stage classify has not run');
});

describe('what is checked first', () => {
  test('C-07: a bad timeout beats 401', async () => {
    const { send } = await startFixture();
    const reply = await send({ path: `${CLUSTERS_PATH}?timeout=abc`, token: '' });
    expect(reply.code).toBe(400);
    expect(reply.json().message).toBe('invalid timeout specified in the request URL - time: invalid duration "abc"');
    expect((await send({ path: `${CLUSTERS_PATH}?timeout=-1s` })).code).toBe(200);
    expect((await send({ path: `${CLUSTERS_PATH}?timeout=` })).code).toBe(200);
    const watch = await send({ path: `${CLUSTERS_PATH}?watch=1&timeout=abc`, token: '' });
    expect(watch.code).toBe(401);
  });

  test('C-11, decision 8, A-01, K-32: 401 on every path, whether or not it is served', async () => {
    const { send, handled } = await startFixture();
    for (const path of [CLUSTERS_PATH, TOKEN_PATH, '/', '/apis', '/nothing/here', '/auth/v1/clusters', '/metrics']) {
      for (const token of ['', 'wrong']) {
        const reply = await send({ path, token });
        expect(reply.code).toBe(401);
        expect(reply.headers['www-authenticate']).toBe('Bearer');
        expect(reply.text).toBe(
          '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}\n',
        );
      }
    }
    expect(handled).toEqual([]);
  });

  test.each<[string, string, Record<string, string>]>([
    ['the query', '?access_token=admin', {}],
    ['another header', '', { 'X-Remote-User': 'admin', 'X-Forwarded-Access-Token': 'admin', Cookie: 'token=admin' }],
  ])('C-C, A-02: a token in %s is no credential', async (_, query, headers) => {
    const { send } = await startFixture();
    expect((await send({ path: `${CLUSTERS_PATH}${query}`, token: '', headers })).code).toBe(401);
  });

  test('C-15, decision 12: without permission the answer is 403, whatever exists', async () => {
    const { send, handled } = await startFixture();
    const reply = await send({ ...post, token: 'nobody' });
    expect(reply.code).toBe(403);
    expect(reply.json()).toMatchObject({
      message:
        'serviceaccounts "sa" is forbidden: User "nobody" cannot create resource "serviceaccounts/token" in API group "" in the namespace "ns"',
      details: { name: 'sa', kind: 'serviceaccounts' },
    });
    expect(reply.headers['x-content-type-options']).toBe('nosniff');
    expect((await send({ path: '/api/v1/nothings/x', token: 'nobody' })).code).toBe(403);
    expect((await send({ path: '/nothing', token: 'nobody' })).json().message).toBe(
      'forbidden: User "nobody" cannot get path "/nothing"',
    );
    expect((await send({ method: 'POST', path: CLUSTERS_PATH, token: 'nobody' })).code).toBe(403);
    expect(handled).toEqual([]);
  });

  test('a caller of /mcp learns that it is not served, and no other path', async () => {
    const { send } = await startFixture();
    for (const method of ['GET', 'POST']) {
      const reply = await send({ method, path: '/mcp', token: 'nobody' });
      expect([reply.code, reply.json().reason]).toEqual([404, 'NotFound']);
      expect(reply.json().message).toBe('MCP is not served here: the server was started without --mcp');
      expect((await send({ method, path: '/mcp', token: '' })).code).toBe(401);
      expect((await send({ method, path: '/mcp/x', token: 'nobody' })).code).toBe(403);
    }
  });

  test('decision 9, P-11: listing clusters is not refused as a whole', async () => {
    const { send, handled } = await startFixture();
    for (const path of [CLUSTERS_PATH, '/auth/v1/clusters']) {
      expect((await send({ path, token: 'nobody' })).code).toBe(200);
    }
    expect(handled).toHaveLength(2);
    expect((await send({ path: `${CLUSTERS_PATH}/x`, token: 'nobody' })).code).toBe(403);
    expect((await send({ method: 'DELETE', path: CLUSTERS_PATH, token: 'nobody' })).code).toBe(403);
  });

  test('C-C, C-12: impersonation needs a permission and a user name, and is never ignored', async () => {
    const { send, handled } = await startFixture();
    const asJane = { path: CLUSTERS_PATH, headers: { 'Impersonate-User': 'jane' } };
    expect((await send(asJane)).code).toBe(200);
    const reply = await send({ ...asJane, token: 'nobody' });
    expect(reply.code).toBe(403);
    expect(reply.json().message).toMatch(
      /^users "jane" is forbidden: User "nobody" cannot impersonate resource "users"/,
    );
    for (const name of ['Impersonate-Extra-x', 'Impersonate-Group', 'Impersonate-Uid', 'Impersonate-Other']) {
      expect((await send({ path: CLUSTERS_PATH, headers: { [name]: 'y' } })).code, name).toBe(400);
    }
    expect((await send({ path: CLUSTERS_PATH, headers: { 'X-Remote-User': 'jane' } })).code).toBe(200);
    expect(handled.map(({ caller }) => caller.as(undefined).name)).toEqual(['jane', 'admin']);
  });
});

describe('routing', () => {
  test('R-03, R-06: what does not exist', async () => {
    const { send } = await startFixture();
    const missing = {
      message: 'the server could not find the requested resource',
      reason: 'NotFound',
      details: {},
      code: 404,
    };
    const paths = [
      '/orchestrator/a/api/v1/foos',
      '/orchestrator/a/api/v1/namespaces/ns/serviceaccounts/sa/foo',
      '/apis/nobody.example/v1/things',
      '/apis/clusterregistry.k8s.io/v1alpha1/namespaces/ns/clusters',
      '/api/v1/namespaces/ns/serviceaccounts/sa',
      '/nothing',
    ];
    for (const path of paths) expect((await send({ path })).json()).toMatchObject(missing);
    expect((await send({ path: `${CLUSTERS_PATH}/foo/bar` })).json()).toMatchObject({
      message: 'clusters.clusterregistry.k8s.io "foo" not found',
      details: { name: 'foo', group: 'clusterregistry.k8s.io', kind: 'clusters' },
      code: 404,
    });
  });

  test('R-04: a method a built-in path does not have', async () => {
    const { send } = await startFixture();
    const accounts = '/orchestrator/a/api/v1/namespaces/ns/serviceaccounts';
    const calls = [
      ['GET', TOKEN_PATH],
      ['PUT', TOKEN_PATH],
      ['POST', `${accounts}/sa`],
      ['PUT', accounts],
      ['HEAD', `${accounts}/sa`],
    ] as const;
    for (const [method, path] of calls) {
      const reply = await send({ method, path });
      expect(reply.code).toBe(405);
      expect(reply.headers.allow).toBeUndefined();
      if (method === 'HEAD') continue;
      expect(reply.json()).toMatchObject({
        message: 'the server does not allow this method on the requested resource',
        reason: 'MethodNotAllowed',
        details: {},
      });
    }
  });

  test('R-05: a verb a custom resource does not have', async () => {
    const { send } = await startFixture();
    const reply = await send({ method: 'PATCH', path: `${CLUSTERS_PATH}/x/status` });
    expect(reply.json()).toMatchObject({
      message: 'patch is not supported on resources of kind "clusters.clusterregistry.k8s.io"',
      details: { group: 'clusterregistry.k8s.io', kind: 'clusters' },
      code: 405,
    });
    expect((await send({ method: 'POST', path: '/auth/v1/clusters' })).code).toBe(405);
    expect((await send({ method: 'DELETE', path: '/auth/v1/clusters' })).code).toBe(405);
    expect((await send({ method: 'POST', path: '/apis/clusterregistry.k8s.io/v1alpha1/watch/clusters' })).code).toBe(
      405,
    );
  });

  test('R-09: HEAD of a custom resource is its GET without a body', async () => {
    const { send } = await startFixture(() => ({ type: 'value', code: 200, value: { a: 1 } }));
    const reply = await send({ method: 'HEAD', path: `${CLUSTERS_PATH}/x` });
    expect(reply).toMatchObject({ code: 200, text: '' });
    expect(reply.headers['content-length']).toBe('8');
    expect((await send({ method: 'HEAD', path: `${CLUSTERS_PATH}?watch=1` })).code).toBe(405);
  });

  test('T-12a: an empty name', async () => {
    const { send } = await startFixture();
    const reply = await send({ ...post, path: '/orchestrator/a/api/v1/namespaces/ns/serviceaccounts//token' });
    expect(reply.json()).toMatchObject({ code: 400, reason: 'BadRequest', message: 'name must be provided' });
  });

  test('R-01, decision 11: paths that are no resources', async () => {
    const { send } = await startFixture(undefined, {
      paths: ({ path, cluster }) =>
        path === '/keys'
          ? {
              public: true,
              handle: ({ caller, ifNoneMatch }) => ({
                type: 'raw',
                code: ifNoneMatch === '"1"' ? 304 : 200,
                headers: { 'Content-Type': 'application/jwk-set+json', 'Cache-Control': 'public', ETag: '"1"' },
                body: `${cluster} ${caller}`,
              }),
            }
          : undefined,
    });
    const reply = await send({ path: '/orchestrator/a/keys', token: 'wrong' });
    expect(reply).toMatchObject({ code: 200, text: 'a undefined' });
    expect(reply.headers).toMatchObject({
      'content-type': 'application/jwk-set+json',
      'cache-control': 'public',
      etag: '"1"',
    });
    expect(await send({ path: '/keys', token: '', headers: { 'if-none-match': '"1"' } })).toMatchObject({
      code: 304,
      text: '',
    });
    expect((await send({ path: '/keys', token: '', method: 'POST' })).code).toBe(405);
  });
});

describe('bodies', () => {
  test('T-12b, T-12c, T-12d: Accept, then Content-Type, then size', async () => {
    const { send, handled } = await startFixture();
    const tooMuch = Buffer.alloc(3_145_729, 0x20);
    const wrong = { 'content-type': 'text/plain', accept: 'text/html' };
    expect((await send({ ...post, headers: wrong, body: tooMuch })).code).toBe(406);
    expect((await send({ ...post, headers: { 'content-type': 'text/plain' }, body: tooMuch })).code).toBe(415);
    expect((await send({ ...post, body: tooMuch })).json()).toMatchObject({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: limit is 3145728',
    });
    expect(handled).toEqual([]);
  });

  test('D-10: exactly 3145728 bytes are accepted, one more in chunks is not', async () => {
    const { send, bodies } = await startFixture();
    expect((await send({ ...post, body: Buffer.alloc(3_145_728, 0x20) })).code).toBe(200);
    expect(sentBody(bodies[0]).bytes.length).toBe(3_145_728);
    const headers = { ...post.headers, 'transfer-encoding': 'chunked' };
    expect((await send({ ...post, headers, body: Buffer.alloc(3_145_729, 0x20) })).code).toBe(413);
  });

  test('C-B: a compressed body is refused, unread', async () => {
    const { send, handled } = await startFixture();
    for (const encoding of ['gzip', 'br', 'identity, gzip']) {
      const reply = await send({ ...post, headers: { ...post.headers, 'content-encoding': encoding } });
      expect(reply.json()).toMatchObject({ code: 415, reason: 'UnsupportedMediaType' });
    }
    expect(handled).toEqual([]);
    expect((await send({ ...post, headers: { ...post.headers, 'content-encoding': 'identity' } })).code).toBe(200);
  });

  test('the body of a DELETE is optional', async () => {
    const { send, bodies } = await startFixture();
    await send({ method: 'DELETE', path: `${CLUSTERS_PATH}/x`, headers: { 'content-type': 'text/plain' } });
    await send({
      method: 'DELETE',
      path: `${CLUSTERS_PATH}/x`,
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(bodies.map((body) => body && sentBody(body).mediaType)).toEqual([undefined, 'application/json']);
    const reply = await send({
      method: 'DELETE',
      path: `${CLUSTERS_PATH}/x`,
      headers: { 'content-type': 'a/b' },
      body: '{}',
    });
    expect(reply.code).toBe(415);
  });

  test('X-16: a patch must have a media type of its route', async () => {
    const { send, bodies } = await startFixture();
    const patch = { method: 'PATCH', path: `${CLUSTERS_PATH}/x`, body: '{}' };
    await send({ ...patch, headers: { 'content-type': 'application/merge-patch+json' } });
    expect(sentBody(bodies[0]).mediaType).toBe('application/merge-patch+json');
    const reply = await send({ ...patch, headers: { 'content-type': 'application/strategic-merge-patch+json' } });
    expect(reply.code).toBe(415);
  });
});

describe('what the handler sees', () => {
  test('path, query, audit id, warnings, annotations', async () => {
    const { send, handled, records } = await startFixture((request) => {
      request.warn('first');
      request.annotate('credential', 'JTI=1');
      throw badRequest('no');
    });
    const reply = await send({ path: `${CLUSTERS_PATH}/?limit=1`, headers: { 'audit-id': 'mine' } });
    expect(handled[0]).toMatchObject({ path: `${CLUSTERS_PATH}/`, auditId: 'mine' });
    expect(handled[0]?.query.get('limit')).toBe('1');
    expect(reply.headers.warning, 'W-05').toBe('299 - "first"');
    expect(reply.headers['audit-id'], 'C-01').toBe('mine');
    await expect.poll(() => records).toHaveLength(1);
    expect(records[0]).toMatchObject({ code: 400, verb: 'list', user: 'admin', auditId: 'mine' });
    expect(records[0]?.annotations.get('credential')).toBe('JTI=1');
  });

  test('C-01: an audit id of ours when the client sends none, or a bad one', async () => {
    const { send } = await startFixture();
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    for (const headers of [{}, { 'audit-id': 'a b' }, { 'audit-id': 'x'.repeat(257) }]) {
      expect((await send({ path: '/livez', headers })).headers['audit-id']).toMatch(uuid);
    }
  });

  test('the signal aborts when the client leaves', async () => {
    const aborted = Promise.withResolvers<void>();
    const { port, records, handled } = await startFixture(({ signal }) => {
      signal.addEventListener('abort', () => aborted.resolve());
      return new Promise(() => {});
    });
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /auth/v1/clusters HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n');
    await expect.poll(() => handled.length).toBe(1);
    socket.destroy();
    await aborted.promise;
    await expect.poll(() => records).toMatchObject([{ code: 0 }]);
  });
});

test('A41: a write that its client does not wait for is recorded when it has ended', async () => {
  const started = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const recorded = Promise.withResolvers<object>();
  const { port } = await startFixture(
    async ({ annotate, signal }) => {
      // After the pipeline has seen the same `close`.
      signal.addEventListener('abort', () => left.resolve());
      started.resolve();
      await left.promise;
      annotate('revoked', 'JTI=1');
      throw badRequest('too late');
    },
    // The annotations at this moment: the record reads those of the request.
    { observe: ({ code, annotations }) => recorded.resolve({ code, annotations: [...annotations] }) },
  );
  const lines = [`POST ${CLUSTERS_PATH} HTTP/1.1`, 'Host: x', 'Authorization: Bearer admin', 'Content-Length: 2'];
  const socket = connect(port, '127.0.0.1');
  socket.write(`${lines.join('\r\n')}\r\nContent-Type: application/json\r\n\r\n{}`);
  await started.promise;
  socket.destroy();
  expect(await recorded.promise).toEqual({ code: 0, annotations: [['revoked', 'JTI=1']] });
});

describe('failures', () => {
  test('C-08, T-35: a handler without end is answered with 504, and its signal aborted', async () => {
    let signal: AbortSignal | undefined;
    const { send } = await startFixture(
      (request) => {
        signal = request.signal;
        return new Promise(() => {});
      },
      { servingMs: 20 },
    );
    const reply = await send(post);
    expect(reply.text).toBe(
      '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: request did not complete within requested timeout - context deadline exceeded","reason":"Timeout","details":{},"code":504}\n',
    );
    expect(signal?.aborted).toBe(true);
  });

  test('C-07: a shorter timeout may be asked for', async () => {
    const { send } = await startFixture(() => new Promise(() => {}));
    expect((await send({ path: `${CLUSTERS_PATH}?timeout=10ms` })).code).toBe(504);
  });

  test('an answer that comes after the deadline is dropped', async () => {
    let release = (): void => {};
    const { send, records } = await startFixture(
      () =>
        new Promise((resolve) => {
          release = () => resolve({ type: 'value', code: 200, value: {} });
        }),
      { servingMs: 10 },
    );
    expect((await send({ path: CLUSTERS_PATH })).code).toBe(504);
    release();
    expect((await send({ path: '/livez' })).code).toBe(200);
    expect(records.map(({ code }) => code)).toContain(504);
  });

  test('C-02: an unknown error is a bland 500; the log has the cause', async () => {
    const { send, lines } = await startFixture(() => {
      throw new Error('password is hunter2');
    });
    const reply = await send({ path: CLUSTERS_PATH, headers: { 'audit-id': 'abc' } });
    expect(reply.code).toBe(500);
    expect(reply.text).not.toContain('hunter2');
    expect(lines.some((line) => line.includes('hunter2') && line.includes('"auditId":"abc"'))).toBe(true);
  });

  test('A-06: an authorizer that fails is a 500 Status without the reason', async () => {
    const decide = (): never => {
      throw new Error('password is hunter2');
    };
    const { send, handled } = await startFixture(undefined, { authorizer: { decide, decidePath: decide } });
    for (const path of [`${CLUSTERS_PATH}/x`, '/nothing/here']) {
      const reply = await send({ path });
      expect(reply.json()).toMatchObject({ kind: 'Status', code: 500 });
      expect(reply.text).not.toContain('hunter2');
    }
    expect(handled).toEqual([]);
  });

  test('F-10: Retry-After', async () => {
    const { send } = await startFixture(() => {
      throw tooManyRequests('storage is (re)initializing', 3);
    });
    const reply = await send({ path: CLUSTERS_PATH });
    expect(reply.code).toBe(429);
    expect(reply.headers['retry-after']).toBe('3');
    expect(reply.headers['content-type']).toBe('application/json');
  });
});

test('B30: a server that may be behind its store decides about no credential; public paths go on', async () => {
  let isCurrent = false;
  const asked: number[] = [];
  const whenCurrent = async (timeoutMs: number): Promise<boolean> => {
    asked.push(timeoutMs);
    return isCurrent;
  };
  const { send, handled } = await startFixture(undefined, {
    freshness: { proveCurrent: () => false, whenCurrent },
    checks: {},
  });
  const path = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
  const refused = await send({ path });
  expect([refused.code, refused.headers['retry-after']]).toEqual([503, '1']);
  expect(refused.json()).toMatchObject({ reason: 'ServiceUnavailable' });
  // Not even that a token is wrong is known.
  expect((await send({ path, token: 'wrong' })).code).toBe(503);
  expect(handled).toEqual([]);
  expect((await send({ path: '/livez' })).code).toBe(200);
  expect(asked).toHaveLength(2);
  isCurrent = true;
  expect((await send({ path })).code).toBe(200);
});

test.each([
  ['unavailable', 503, '1'],
  ['closed', 503, '1'],
  ['in-use', 503, '1'],
  ['refused', 503, '1'],
  ['compacted', 503, '1'],
  ['future', 503, '1'],
  ['unreadable', 503, '30'],
  ['too-large', 413, undefined],
  ['unknown-outcome', 504, undefined],
] as const)('B32: a store that fails with %s is %i, wherever that was thrown', async (code, status, retryAfter) => {
  for (const wrap of [(cause: Error) => cause, (cause: Error) => new Error('a part failed', { cause })]) {
    const thrown = wrap(new StorageError(code, 'secret.db: of the store'));
    const { send, lines } = await startFixture(() => Promise.reject(thrown));
    const reply = await send({ path: '/apis/clusterregistry.k8s.io/v1alpha1/clusters/x' });
    expect([reply.code, reply.headers['retry-after']]).toEqual([status, retryAfter]);
    expect(reply.text).not.toContain('secret.db');
    expect(lines.some((line) => line.includes('the store cannot be read'))).toBe(code === 'unreadable');
  }
});
