import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { WatchSink } from '../../api/request.ts';
import { SharedFrames } from '../../api/shared-frames.ts';
import { CLUSTERS_PATH, type Fixture, startFixture } from '../http.fixture.ts';

interface OpenWatch {
  readonly fixture: Fixture;
  readonly sink: WatchSink;
  readonly request: ClientRequest;
  readonly response: IncomingMessage;
  /** Everything received when the stream has ended. */
  readonly received: Promise<string>;
}

async function openWatch(): Promise<OpenWatch> {
  const started = Promise.withResolvers<WatchSink>();
  const fixture = await startFixture(() => ({ type: 'watch', start: started.resolve }));
  const headers = { authorization: 'Bearer admin', 'accept-encoding': 'gzip' };
  const { request, response } = await new Promise<Pick<OpenWatch, 'request' | 'response'>>((resolve, reject) => {
    const req = get({ port: fixture.port, path: `${CLUSTERS_PATH}?watch=1`, headers, agent: false }, (res) =>
      resolve({ request: req, response: res }),
    );
    req.on('error', reject);
  });
  const received = new Promise<string>((resolve) => {
    let text = '';
    response.on('data', (chunk: Buffer) => {
      text += chunk;
    });
    response.on('error', () => resolve(`${text}<cut>`));
    response.on('end', () => resolve(text));
  });
  return { fixture, sink: await started.promise, request, response, received };
}

describe('a watch', () => {
  test('V-01: headers come at once, chunked, uncompressed', async () => {
    const { response, sink } = await openWatch();
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'application/json',
      'transfer-encoding': 'chunked',
      'cache-control': 'no-cache, private',
    });
    expect(response.headers['content-encoding']).toBeUndefined();
    sink.end();
  });

  test('frames arrive as written, and end() ends cleanly', async () => {
    const { sink, received } = await openWatch();
    expect(sink.write(Buffer.from('{"type":"ADDED"}\n'))).toBe(true);
    sink.write(Buffer.from('{"type":"DELETED"}\n'));
    sink.end();
    expect(await received).toBe('{"type":"ADDED"}\n{"type":"DELETED"}\n');
    expect(sink.write(Buffer.from('late'))).toBe(false);
  });

  test('frames to a client that reads late are not overwritten by later ones', async () => {
    const { sink, response, received } = await openWatch();
    response.pause();
    const frames = Array.from({ length: 300 }, (_, index) => `${index} `.repeat(20_000));
    for (const frame of frames) sink.writeOwn([Buffer.from(frame)]);
    response.resume();
    sink.end();
    expect((await received) === frames.join('')).toBe(true);
  });

  test('nothing is written to the connection when it has ended: the next answer is there', async () => {
    const serverSockets: Socket[] = [];
    const note = (message: unknown): void => void serverSockets.push((message as { socket: Socket }).socket);
    subscribe('net.server.socket', note);
    const started = Promise.withResolvers<WatchSink>();
    const fixture = await startFixture(() => ({ type: 'watch', start: started.resolve }));
    const socket = connect(fixture.port, '127.0.0.1').setEncoding('latin1');
    let received = '';
    socket.on('data', (data: string) => {
      received += data;
    });
    socket.write(`GET ${CLUSTERS_PATH}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`);
    const sink = await started.promise;
    const listeners = serverSockets[0]?.listenerCount('drain') ?? 0;
    sink.onDrain(() => {});
    sink.end();
    const late = Buffer.from('late');
    expect([sink.write(late), sink.writeOwn([late]), sink.writeShared(new SharedFrames(1, late))]).toEqual([
      false,
      false,
      false,
    ]);
    await expect.poll(() => fixture.records.length).toBe(1);
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await once(socket, 'end');
    expect(received).toMatch(/\r\n\r\n0\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    expect(serverSockets[0]?.listenerCount('drain')).toBeLessThanOrEqual(listeners);
    unsubscribe('net.server.socket', note);
  });

  test('onClose is called once when the client goes away', async () => {
    const { sink, request } = await openWatch();
    let closed = 0;
    const first = new Promise<void>((resolve) => {
      sink.onClose(() => {
        closed++;
        resolve();
      });
    });
    request.destroy();
    await first;
    sink.end();
    sink.destroy();
    expect(closed).toBe(1);
    // A listener that is added later is called at once.
    sink.onClose(() => closed++);
    expect(closed).toBe(2);
  });

  test('B14: a client that does not read shows as pending, and can be disconnected', async () => {
    const { sink, response, received } = await openWatch();
    response.pause();
    const frame = Buffer.alloc(1 << 20, 0x61);
    let writes = 0;
    while (sink.pending < 4 << 20 && writes < 100) {
      sink.write(frame);
      writes++;
    }
    expect(sink.pending).toBeGreaterThanOrEqual(4 << 20);
    expect(sink.write(frame)).toBe(false);
    sink.destroy();
    response.resume();
    expect(await received).toMatch(/<cut>$/);
  });

  test('B16: the server drains: the sender may say a last word', async () => {
    const { sink, fixture, received } = await openWatch();
    sink.onClose(() => {
      sink.write(Buffer.from('{"type":"BOOKMARK"}\n'));
    });
    await fixture.server.drain();
    expect(await received).toBe('{"type":"BOOKMARK"}\n');
    await expect.poll(() => fixture.records).toMatchObject([{ verb: 'watch', code: 200 }]);
  });
});

test('V-17: a watch has no deadline', async () => {
  let sink: WatchSink | undefined;
  const release = Promise.withResolvers<void>();
  const { port, send } = await startFixture(
    async ({ target }) => {
      if (target.verb !== 'watch') return new Promise(() => {});
      await release.promise;
      return {
        type: 'watch',
        start: (started) => {
          sink = started;
          started.end();
        },
      };
    },
    { servingMs: 5 },
  );
  const watch = new Promise<number | undefined>((resolve) => {
    const headers = { authorization: 'Bearer admin' };
    get({ port, path: `${CLUSTERS_PATH}?watch=1`, headers, agent: false }, (res) => {
      res.resume();
      resolve(res.statusCode);
    });
  });
  // By the time a later request has run into the deadline, the watch would have too.
  expect((await send({ path: CLUSTERS_PATH })).code).toBe(504);
  release.resolve();
  expect(await watch).toBe(200);
  expect(sink).toBeDefined();
});

test('a sender that fails when it starts does not leave a stream open', async () => {
  const { send, lines } = await startFixture(() => ({
    type: 'watch',
    start: () => {
      throw new Error('boom');
    },
  }));
  await expect(send({ path: `${CLUSTERS_PATH}?watch=1` })).rejects.toThrow('aborted');
  expect(lines.some((line) => line.includes('boom'))).toBe(true);
});

test('A20: a listener that throws ends its own stream, not the process', async () => {
  const { sink, request, fixture } = await openWatch();
  sink.onClose(() => {
    throw new Error('boom');
  });
  request.destroy();
  await expect.poll(() => fixture.lines.some((line) => line.includes('boom'))).toBe(true);
  expect((await fixture.send({ path: '/livez' })).code).toBe(200);
});
