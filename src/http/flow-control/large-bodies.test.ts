import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { AMPLE, type Call, CLUSTERS_PATH, CREATE, closeServersAfterEach, startFixture } from '../http.fixture.ts';
import type { HttpServerOptions } from '../http-server.ts';
import { createFlowControl } from './flow-control.ts';

closeServersAfterEach();

describe('B15: large bodies', () => {
  /** The seats of one caller: a quarter of all. */
  const SHARE = 8;
  const LARGE = 100_000;
  const LENGTH = `Content-Length: ${LARGE}`;
  const CHUNKED = 'Transfer-Encoding: chunked';
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  const headOf = (token: string, header: string): string =>
    `POST ${CLUSTERS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${header}\r\n\r\n`;

  async function startWith(limits: Partial<typeof AMPLE>, header = LENGTH, overrides: Partial<HttpServerOptions> = {}) {
    const flowControl = createFlowControl({
      ...AMPLE,
      seatPercentPerFlow: 25,
      queueLengthPerFlow: 0,
      writeSeats: 400,
      ...limits,
    });
    const fixture = await startFixture(undefined, { flowControl, ...overrides });
    /** Sends a part of a body. */
    const begin = (token = 'admin'): Socket => {
      const socket = connect(fixture.port, '127.0.0.1').setEncoding('latin1');
      sockets.push(socket);
      socket.write(headOf(token, header));
      return socket;
    };
    const holding = (executing: number, inQueue = 0): Promise<void> =>
      expect.poll(() => flowControl.usage().bodies).toMatchObject({ executing, inQueue }) as Promise<void>;
    return { ...fixture, flowControl, begin, holding };
  }
  const large = (token = 'admin'): Call => ({ ...CREATE, token, body: JSON.stringify('x'.repeat(LARGE - 2)) });

  it.each([
    ['of a length that says so', LENGTH],
    ['of a length that is not said', CHUNKED],
  ])(
    '%s: past its share a caller is rejected, unread; its short bodies are not, nor are those of others',
    async (_, header) => {
      const { begin, holding, send, raw, handled } = await startWith({}, header);
      for (let i = 0; i < SHARE; i += 1) begin();
      await holding(SHARE);
      // Without the body: were it read, there would be no answer.
      const refused = await raw(headOf('admin', `${header}\r\nExpect: 100-continue\r\nConnection: close`));
      expect(refused).toMatch(/^HTTP\/1\.1 429 /);
      expect(refused).toContain('too many requests at once (bodies), please try again later');
      expect(handled).toHaveLength(0);
      expect((await send(CREATE)).code).toBe(200);
      expect((await send(large('other'))).code).toBe(200);
      await holding(SHARE);
    },
  );

  it('wait in a queue, and are authorized again when they are read', async () => {
    let allowed = true;
    const decide = () => ({ allowed, reason: '' });
    const authorizer = { decide, decidePath: decide };
    const { begin, holding, send } = await startWith({ queueLengthPerFlow: 5 }, LENGTH, { authorizer });
    const [first, second] = [begin(), begin()];
    for (let i = 2; i < SHARE; i += 1) begin();
    await holding(SHARE);
    const [one, other] = [send(large()), send(large())];
    await holding(SHARE, 2);
    first.write(JSON.stringify('x'.repeat(LARGE - 2)));
    expect([(await one).code, (await other).code]).toEqual([200, 200]);
    begin();
    await holding(SHARE);
    const late = send(large());
    await holding(SHARE, 1);
    allowed = false;
    second.destroy();
    expect((await late).code).toBe(403);
    await holding(SHARE - 1);
  });

  it('give their seat back when their client leaves, whether they had it or waited for it', async () => {
    const { begin, holding } = await startWith({ queueLengthPerFlow: 5 });
    const first = Array.from({ length: SHARE }, () => begin());
    await holding(SHARE);
    const waiting = begin();
    await holding(SHARE, 1);
    waiting.destroy();
    await holding(SHARE, 0);
    for (const socket of first) socket.destroy();
    await holding(0);
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
      const { port, flowControl } = await startWith({ seatPercentPerFlow: 100 });
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
      expect(flowControl.usage().bodies.executing).toBe(0);
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

  it('that are too large are rejected with 413, however many there are', async () => {
    const { begin, holding, raw } = await startWith({});
    for (let i = 0; i < SHARE; i += 1) begin();
    await holding(SHARE);
    const answer = await raw(headOf('admin', 'Content-Length: 3145729\r\nExpect: 100-continue\r\nConnection: close'));
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });
});
