import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { MemoryAccount } from '../../lib/memory-account.ts';
import { AMPLE, type Call, CLUSTERS_PATH, CREATE, startFixture } from '../http.fixture.ts';
import type { HttpServerOptions } from '../http-server.ts';
import { createFlowControl } from './flow-control.ts';

describe('B15: large bodies', () => {
  /** So many of one caller are in memory at once. */
  const SHARE = 8;
  const LARGE = 100_000;
  /** A body is in memory as bytes, as text and as values. */
  const HELD = 3 * LARGE;
  const LENGTH = `Content-Length: ${LARGE}`;
  const CHUNKED = 'Transfer-Encoding: chunked';
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  const headOf = (token: string, header: string): string =>
    `POST ${CLUSTERS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${header}\r\n\r\n`;

  async function startWith(header = LENGTH, overrides: Partial<HttpServerOptions> = {}, total = 1_000_000_000) {
    const memory = new MemoryAccount({ perFlow: SHARE * HELD, total });
    const flowControl = createFlowControl({ ...AMPLE, writeSeats: 400 });
    const fixture = await startFixture(undefined, { flowControl, memory, ...overrides });
    /** Sends a part of a body; of one whose length is not said nearly all of it. */
    const begin = (token = 'admin'): Socket => {
      const socket = connect(fixture.port, '127.0.0.1').setEncoding('latin1');
      sockets.push(socket);
      socket.write(headOf(token, header));
      if (header === CHUNKED) socket.write(`${LARGE.toString(16)}\r\n${'x'.repeat(LARGE)}`);
      return socket;
    };
    const holding = (bodies: number): Promise<void> =>
      expect.poll(() => memory.usage.bytes).toBe(bodies * HELD) as Promise<void>;
    return { ...fixture, memory, begin, holding };
  }
  const large = (token = 'admin'): Call => ({ ...CREATE, token, body: JSON.stringify('x'.repeat(LARGE - 2)) });

  it('past its share a caller is rejected, unread; its short bodies are not, nor are those of others', async () => {
    const { begin, holding, send, raw, handled, memory } = await startWith();
    for (let i = 0; i < SHARE; i += 1) begin();
    await holding(SHARE);
    // Without the body: were it read, there would be no answer.
    const refused = await raw(headOf('admin', `${LENGTH}\r\nExpect: 100-continue\r\nConnection: close`));
    expect(refused).toMatch(/^HTTP\/1\.1 429 /);
    expect(refused).toContain('too much memory is in use (memory of the caller), please try again later');
    expect(handled).toHaveLength(0);
    expect((await send(CREATE)).code).toBe(200);
    expect((await send(large('other'))).code).toBe(200);
    await holding(SHARE);
    expect(memory.usage.refused).toEqual({ caller: 1, server: 0 });
  });

  it('of few callers do not keep out the others when the process is full', async () => {
    const { begin, holding, send } = await startWith(LENGTH, {}, SHARE * HELD);
    for (let i = 0; i < SHARE; i += 1) begin();
    await holding(SHARE);
    expect((await send(large('other'))).code).toBe(200);
    expect((await send(CREATE)).code).toBe(200);
  });

  it('are authorized again when they have arrived', async () => {
    let allowed = true;
    const decide = () => ({ allowed, reason: '' });
    const { begin, holding } = await startWith(LENGTH, { authorizer: { decide, decidePath: decide } });
    const late = begin();
    await holding(1);
    allowed = false;
    late.write(JSON.stringify('x'.repeat(LARGE - 2)));
    const [answer] = (await once(late, 'data')) as [string];
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    await holding(0);
  });

  it.each([LENGTH, CHUNKED])('give their memory back when their client leaves: %s', async (header) => {
    const { begin, holding, memory } = await startWith(header);
    const open = Array.from({ length: SHARE }, () => begin());
    await holding(SHARE);
    for (const socket of open) socket.destroy();
    await holding(0);
    await expect.poll(() => memory.size).toBe(0);
  });

  describe('are let go', () => {
    const WHOLE = Buffer.alloc(3_000_000, 'x');
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    /** How much of what was sent since then is still in memory. */
    const kept = (before: number): number => {
      collect();
      return process.memoryUsage().arrayBuffers - before;
    };
    const memory = (): number => kept(0);

    it('when their time is up before they have come, and the connection is closed', async () => {
      const account = new MemoryAccount({ perFlow: 1_000_000_000, total: 1_000_000_000 });
      const { port } = await startWith(LENGTH, { memory: account });
      const before = memory();
      const open = Array.from({ length: 20 }, async () => {
        const socket = connect(port, '127.0.0.1').setEncoding('latin1');
        sockets.push(socket);
        const head = headOf('admin', `Content-Length: ${WHOLE.length + 1}`).replace(
          CLUSTERS_PATH,
          `${CLUSTERS_PATH}?timeout=1s`,
        );
        socket.write(head);
        socket.write(WHOLE);
        const [answer] = (await once(socket, 'data')) as [string];
        expect(answer).toMatch(/^HTTP\/1\.1 504 /);
        expect(answer).toContain('\r\nConnection: close\r\n');
        return socket;
      });
      const answered = await Promise.all(open);
      await expect.poll(() => kept(before)).toBeLessThan(10_000_000);
      await expect.poll(() => account.usage.bytes).toBe(0);
      await expect.poll(() => answered.every(({ readyState }) => readyState !== 'open')).toBe(true);
    });

    it('when they were acted upon, though the answer waits behind a watch', async () => {
      const { port, handled, bodies } = await startFixture(({ target }) =>
        target.verb === 'watch' ? { type: 'watch', start: () => {} } : { type: 'value', code: 200, value: {} },
      );
      const socket = connect(port, '127.0.0.1').setEncoding('latin1');
      sockets.push(socket);
      socket.write(`GET ${CLUSTERS_PATH}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`);
      await once(socket, 'data');
      const before = memory();
      for (let i = 0; i < 20; i += 1) {
        socket.write(headOf('admin', `Content-Length: ${WHOLE.length}`));
        socket.write(WHOLE);
      }
      await expect.poll(() => handled.length).toBe(21);
      // The fixture's own list of requests keeps them, too.
      handled.length = 0;
      bodies.length = 0;
      await expect.poll(() => kept(before)).toBeLessThan(10_000_000);
    });
  });
});
