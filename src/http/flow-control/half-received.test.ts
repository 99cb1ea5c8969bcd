import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Caller } from '../../api/caller.ts';
import type { ApiResponse } from '../../api/request.ts';
import { AMPLE, type Call, CLUSTERS_PATH, CREATE, mcpEndpoint, startFixture, TOKEN_PATH } from '../http.fixture.ts';
import type { HttpServerOptions } from '../http-server.ts';
import { formRoutes } from '../oauth/form-routes.ts';
import { createFlowControl } from './flow-control.ts';

const LIST: Call = { path: CLUSTERS_PATH };
const TOKEN: Call = { ...CREATE, path: TOKEN_PATH };
const LARGE = 100_000;
const HOUR = 3_600_000;

/** Every name is a token. The callers `a-1`, `a-2`, ... have one flow. */
function callerOf(authorization: string | undefined): Caller {
  const name = authorization?.slice('Bearer '.length) ?? '';
  const user = { name, uid: '', groups: [], extra: {} };
  const [flow = ''] = name.split('-', 1);
  return { as: () => user, home: undefined, key: name, flow, expiresAt: undefined, dependsOn: [], isLive: () => true };
}

async function start(
  limits: Partial<typeof AMPLE>,
  overrides: Partial<HttpServerOptions> = {},
  handler?: () => Promise<ApiResponse>,
) {
  const flowControl = createFlowControl({ ...AMPLE, queueLengthPerFlow: 0, ...limits });
  // A slow machine takes longer than the default for opening a thousand connections.
  const fixture = await startFixture(handler, { flowControl, authenticate: callerOf, bodyMs: HOUR, ...overrides });
  const begin = (
    caller: string,
    { path = CLUSTERS_PATH, length = 2, body = '{', localAddress = '127.0.0.1', type = 'application/json' } = {},
  ) => {
    const socket = connect({ port: fixture.port, host: '127.0.0.1', localAddress }).setEncoding('latin1');
    onTestFinished(() => void socket.on('error', () => {}).destroy());
    const lines = [`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${caller}`];
    socket.write(`${[...lines, `Content-Type: ${type}`, `Content-Length: ${length}`].join('\r\n')}\r\n\r\n`);
    socket.write(body);
    return socket;
  };
  const usage = (name: 'public' | 'tokens' | 'reads' | 'writes' | 'receiving' | 'receiving-address') =>
    flowControl.usage()[name];
  const receiving = (count: number): Promise<void> =>
    expect.poll(() => usage('receiving').executing).toBe(count) as Promise<void>;
  return { ...fixture, begin, usage, receiving };
}

const answerOn = async (socket: Socket): Promise<string> => String((await once(socket, 'data'))[0]);

describe('B15: a request whose body has not arrived', () => {
  it('has no seat: others are served', async () => {
    const { begin, receiving, send, usage } = await start({ tokenSeats: 4, readSeats: 4, writeSeats: 4 });
    for (const caller of ['a', 'b', 'c', 'd', 'e']) {
      for (let i = 0; i < 10; i += 1) {
        begin(caller);
        begin(caller, { path: TOKEN_PATH });
      }
    }
    await receiving(100);
    for (const call of [LIST, TOKEN, CREATE]) expect((await send({ ...call, token: 'other' })).code).toBe(200);
    for (const level of ['tokens', 'reads', 'writes'] as const) expect(usage(level).executing).toBe(0);
  });

  it('has no seat either when the body is large', async () => {
    const { begin, send, usage, receiving } = await start({ writeSeats: 4, queueLengthPerFlow: 10 });
    for (let i = 0; i < 10; i += 1) begin('a', { length: LARGE });
    await receiving(10);
    expect(usage('writes').executing).toBe(0);
    expect((await send({ ...CREATE, token: 'a' })).code).toBe(200);
  });

  it('gets a seat when the body has arrived, and waits for it like any other', async () => {
    const answers: ((response: ApiResponse) => void)[] = [];
    const handler = (): Promise<ApiResponse> => new Promise((resolve) => answers.push(resolve));
    const limits = { writeSeats: 1, queueLengthPerFlow: 1 };
    const { begin, receiving, send, usage, handled } = await start(limits, {}, handler);
    const [late, later] = [begin('a'), begin('a')];
    await receiving(2);
    const first = send({ ...CREATE, token: 'a' });
    await expect.poll(() => handled.length).toBe(1);
    late.write('}');
    await expect.poll(() => usage('writes')).toMatchObject({ executing: 1, inQueue: 1 });
    later.write('}');
    expect(await answerOn(later)).toMatch(/^HTTP\/1\.1 429 [\s\S]*too many requests at once \(writes\)/);
    answers.shift()?.({ type: 'value', code: 200, value: {} });
    expect((await first).code).toBe(200);
    await expect.poll(() => answers.length).toBe(1);
    answers.shift()?.({ type: 'value', code: 200, value: {} });
    expect(await answerOn(late)).toMatch(/^HTTP\/1\.1 200 /);
    await receiving(0);
  });

  it('is rejected when its caller has a hundred of them; requests that have arrived are not', async () => {
    const { begin, receiving, send, usage } = await start({ writeSeats: 400 });
    for (let i = 0; i < 100; i += 1) begin(`a-${i % 5}`);
    await receiving(100);
    const refused = await answerOn(begin('a-9'));
    expect(refused).toMatch(/^HTTP\/1\.1 429 [\s\S]*too many requests at once \(receiving\)/);
    expect(refused).toContain('\r\nConnection: close\r\n');
    expect((await send({ ...CREATE, token: 'a-1' })).code).toBe(200);
    const other = begin('b');
    await receiving(101);
    other.write('}');
    expect(await answerOn(other)).toMatch(/^HTTP\/1\.1 200 /);
    expect(usage('receiving').rejected['concurrency-limit']).toBe(1);
  });

  it('is rejected when its address has a thousand of them', async () => {
    const { begin, receiving, send } = await start({ writeSeats: 400 });
    for (let i = 0; i < 1_000; i += 1) {
      begin(`caller${i % 10}`);
      if (i % 100 === 99) await receiving(i + 1);
    }
    expect(await answerOn(begin('new'))).toMatch(/^HTTP\/1\.1 429 /);
    expect((await send({ ...CREATE, token: 'new' })).code).toBe(200);
    begin('new', { localAddress: '127.0.0.2' });
    await receiving(1_001);
  });
});

/** A form of OAuth comes before its credential, so it counts for the address of its client. */
describe('B15: a form that has not arrived', () => {
  const FORM = { path: '/oauth/introspect', type: 'application/x-www-form-urlencoded', body: 't', length: 20 };
  const forms = formRoutes(() => {
    throw new Error('no form arrives');
  });

  it('has no seat, is rejected when its address has a hundred of them, and delays no caller', async () => {
    const { begin, receiving, send, usage } = await start({}, { forms });
    for (let i = 0; i < 100; i += 1) begin(`stranger-${i}`, FORM);
    await receiving(100);
    expect(usage('public').executing).toBe(0);
    const refused = await answerOn(begin('stranger', FORM));
    expect(refused).toMatch(/^HTTP\/1\.1 429 [\s\S]*"error":"temporarily_unavailable"/);
    expect(refused).toContain('\r\nConnection: close\r\n');
    begin('stranger', { ...FORM, localAddress: '127.0.0.2' });
    begin('a');
    await receiving(102);
    for (const call of [LIST, TOKEN, CREATE]) expect((await send({ ...call, token: 'a' })).code).toBe(200);
  });

  it('and stops arriving is a 408, and the connection is closed', async () => {
    const { begin, usage } = await start({}, { forms, bodyMs: 50 });
    const socket = begin('stranger', FORM);
    const answer = await answerOn(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"error":"invalid_request"/);
    expect(answer).toContain('\r\nConnection: close\r\n');
    await once(socket, 'close');
    for (const level of ['receiving', 'receiving-address', 'public'] as const) expect(usage(level).executing).toBe(0);
  });
});

it('B15: a message of MCP that has not arrived counts for its caller like any other body', async () => {
  const mcp = mcpEndpoint(async (authorization) => callerOf(authorization));
  const { begin, receiving, usage } = await start({}, { mcp });
  for (let i = 0; i < 100; i += 1) begin(`a-${i}`, { path: '/mcp' });
  await receiving(100);
  expect(usage('reads').executing).toBe(0);
  expect(await answerOn(begin('a-101', { path: '/mcp' }))).toMatch(/^HTTP\/1\.1 429 /);
  begin('b', { path: '/mcp' });
  await receiving(101);
});

describe('A21: a body', () => {
  it.each([
    ['short', 2],
    ['large', LARGE],
  ])('that is %s and stops arriving is a 408, and the connection is closed', async (_name, length) => {
    const { begin, usage, handled } = await start({}, { bodyMs: 50 });
    const socket = begin('a', { length });
    const answer = await answerOn(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*the body of the request did not arrive in time/);
    expect(answer).toContain('\r\nConnection: close\r\n');
    await once(socket, 'close');
    expect(handled).toEqual([]);
    for (const level of ['receiving', 'receiving-address'] as const) expect(usage(level).executing).toBe(0);
  });
});

describe('B15: callers of one flow', () => {
  it.each([
    ['tokens', TOKEN, 'tokenSeats'],
    ['reads', LIST, 'readSeats'],
    ['writes', CREATE, 'writeSeats'],
  ] as const)('have one share of %s together', async (_level, call, seats) => {
    const answers: ((response: ApiResponse) => void)[] = [];
    const handler = (): Promise<ApiResponse> => new Promise((resolve) => answers.push(resolve));
    const { send } = await start({ [seats]: 4, seatPercentPerFlow: 50 }, {}, handler);
    const going = [send({ ...call, token: 'a-1' }), send({ ...call, token: 'a-2' })];
    await expect.poll(() => answers.length).toBe(2);
    expect((await send({ ...call, token: 'a-3' })).code).toBe(429);
    going.push(send({ ...call, token: 'b-1' }), send({ ...call, token: 'c-1' }));
    await expect.poll(() => answers.length).toBe(4);
    for (const answer of answers) answer({ type: 'value', code: 200, value: {} });
    for (const { code } of await Promise.all(going)) expect(code).toBe(200);
  });
});
