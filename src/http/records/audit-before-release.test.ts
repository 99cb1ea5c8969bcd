import { describe, expect, it } from 'vitest';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { unavailable } from '../../api/status.ts';
import { type Call, startFixture, TOKEN_PATH } from '../http.fixture.ts';

const TOKEN: Call = { method: 'POST', path: TOKEN_PATH, body: '{}', headers: { 'content-type': 'application/json' } };
const ISSUED: ApiResponse = { type: 'value', code: 201, value: { status: { token: 'the-token' } } };

/** A handler that says ahead what it will answer. */
const saying = (code: number, answer: ApiResponse | Promise<ApiResponse>) => (request: ApiRequest) => {
  request.willAnswer(code);
  return answer;
};

/** A server whose audit events become durable when the test says so. */
async function startRecording(handler: (request: ApiRequest) => ApiResponse | Promise<ApiResponse>) {
  const begun: number[] = [];
  const { promise: written, resolve: write, reject: fail } = Promise.withResolvers<void>();
  const fixture = await startFixture(handler, {
    beforeRelease: (record) => {
      begun.push(record.code);
      return written;
    },
  });
  return { ...fixture, begun, write, fail };
}

describe('A9: a credential', () => {
  it.each([
    ['that was said ahead', saying(201, ISSUED)],
    ['that was not', (): ApiResponse => ISSUED],
    ['of which something else was said', saying(200, ISSUED)],
  ])('%s leaves when its line is written, and not before', async (_, handler) => {
    const { send, begun, write, records } = await startRecording(handler);
    let isOut = false;
    const answered = send(TOKEN).then((reply) => {
      isOut = true;
      return reply;
    });
    await expect.poll(() => begun.at(-1)).toBe(201);
    expect((await send({ path: '/livez', token: '' })).code).toBe(200);
    expect(isOut).toBe(false);
    write();
    expect((await answered).code).toBe(201);
    await expect.poll(() => records.find(({ code }) => code === 201)?.auditedCode).toBe(201);
  });

  it('is written down while it is made', async () => {
    const { promise: made, resolve: make } = Promise.withResolvers<ApiResponse>();
    const { send, begun, write } = await startRecording(saying(201, made));
    const answered = send(TOKEN);
    await expect.poll(() => begun).toEqual([201]);
    write();
    make(ISSUED);
    expect((await answered).code).toBe(201);
    expect(begun).toEqual([201]);
  });

  it('does not leave when its line cannot be written, whichever of the two is known first', async () => {
    const { promise: made, resolve: make } = Promise.withResolvers<ApiResponse>();
    const { send, begun, fail } = await startRecording(saying(201, made));
    const answered = send(TOKEN);
    await expect.poll(() => begun).toEqual([201]);
    fail(unavailable('the audit log cannot be written', 5));
    make(ISSUED);
    const reply = await answered;
    expect(reply.code).toBe(503);
    expect(reply.text).not.toContain('the-token');
  });

  it('that could not be made is recorded as what it came to', async () => {
    const { send, write, records } = await startRecording((request) => {
      request.willAnswer(201);
      throw new Error('no key');
    });
    expect((await send(TOKEN)).code).toBe(500);
    write();
    // The auditor writes another event, because this code differs from the one that was committed.
    await expect.poll(() => records.map(({ code, auditedCode }) => code !== auditedCode && code)).toEqual([500]);
  });
});
