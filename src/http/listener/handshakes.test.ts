import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { connect, createServer, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { selfSigned } from '../../clusters/upstream/certificates.fixture.ts';
import { CLUSTERS_PATH, startFixture } from '../http.fixture.ts';
import { AddressLimiter, addressKey, HandshakeQueue } from './handshakes.ts';

afterEach(() => vi.useRealTimers());

/** A TLS record of a handshake. The queue does not look into it. */
function record(content: string): Buffer {
  const header = Buffer.from([22, 3, 1, 0, 0]);
  header.writeUInt16BE(content.length, 3);
  return Buffer.concat([header, Buffer.from(content)]);
}

/** Sockets are real; a tick passes when the test says so. */
async function startQueue() {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  let scheduled: (() => void)[] = [];
  const queue = new HandshakeQueue({
    helloTimeoutMs: 10_000,
    now: () => Date.now(),
    inNextTick: (act) => scheduled.push(act),
  });
  const begun: string[] = [];
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  /** A client connects; returns both ends. */
  const arrive = async (name = '') => {
    const client = connect({ port, host: '127.0.0.1' }).on('error', () => {});
    const [socket] = (await once(server, 'connection')) as [Socket];
    sockets.push(client, socket);
    queue.accept(socket, () => begun.push(name));
    return { client, socket };
  };
  /** A client sends bytes, and the server has read them. */
  const send = async ({ client, socket }: { client: Socket; socket: Socket }, bytes: Uint8Array): Promise<void> => {
    const read = once(socket, 'data');
    client.write(bytes);
    await read;
  };
  const tick = (): void => {
    const due = scheduled;
    scheduled = [];
    for (const act of due) act();
  };
  return { queue, arrive, send, tick, begun };
}

describe('A20: handshakes', () => {
  it('begin one in a tick, in the order in which their ClientHellos came', async () => {
    const { queue, arrive, send, tick, begun } = await startQueue();
    const [a, b, c] = [await arrive('a'), await arrive('b'), await arrive('c')];
    await arrive('silent');
    for (const each of [c, a, b]) await send(each, record('hello'));
    expect([begun, queue.size]).toEqual([[], 3]);
    tick();
    expect([begun, queue.size]).toEqual([['c'], 2]);
    tick();
    tick();
    tick();
    expect([begun, queue.size]).toEqual([['c', 'a', 'b'], 0]);
    const late = await arrive('late');
    await send(late, record('hello'));
    tick();
    expect(begun.at(-1)).toBe('late');
  });

  it('begin when the ClientHello is whole, and with all of it', async () => {
    const { arrive, send, tick, begun } = await startQueue();
    const connection = await arrive('in parts');
    const hello = record('x'.repeat(1_700));
    for (const [from, to] of [
      [0, 1],
      [1, 5],
      [5, 1_400],
    ]) {
      await send(connection, hello.subarray(from, to));
      tick();
      expect(begun).toEqual([]);
    }
    await send(connection, hello.subarray(1_400));
    tick();
    expect(begun).toEqual(['in parts']);
    expect(connection.socket.read()).toEqual(hello);
  });

  it('of a client that does not send its ClientHello in time are not waited for, however it trickles', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const { arrive, send, tick, begun } = await startQueue();
    const [silent, slow, prompt] = [await arrive('silent'), await arrive('slow'), await arrive('prompt')];
    await send(prompt, record('hello'));
    await send(slow, record('hello').subarray(0, 3));
    vi.advanceTimersByTime(9_999);
    await send(slow, record('hello').subarray(3, 6));
    expect([silent, slow, prompt].map(({ socket }) => socket.destroyed)).toEqual([false, false, false]);
    vi.advanceTimersByTime(1);
    expect([silent, slow, prompt].map(({ socket }) => socket.destroyed)).toEqual([true, true, false]);
    tick();
    expect(begun).toEqual(['prompt']);
  });
});

describe('A20: a server for TLS', () => {
  const dir = mkdtempSync(join(tmpdir(), 'clusterpass-queue-'));
  const tls = { certFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key') };
  const { cert, key } = selfSigned('queue');
  writeFileSync(tls.certFile, cert);
  writeFileSync(tls.keyFile, key, { mode: 0o600 });

  const open = (port: number): TLSSocket => {
    const socket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => {});
    onTestFinished(() => void socket.destroy());
    return socket.setEncoding('latin1');
  };
  it('serves clients that all connect at once, beside silent ones', async () => {
    const { port } = await startFixture(undefined, { tls });
    const silent = Array.from({ length: 50 }, () => connect(port, '127.0.0.1').on('error', () => {}));
    onTestFinished(() => {
      for (const socket of silent) socket.destroy();
    });
    const codes = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const socket = open(port);
        socket.write(`GET ${CLUSTERS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`);
        return String((await once(socket, 'data'))[0]).slice(9, 12);
      }),
    );
    expect(new Set(codes)).toEqual(new Set(['200']));
  });
});

describe('the address that a connection counts for', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
    ['2001:DB8::6', '2001:db8:0:0::/64'],
    ['2001:db8::3:4:5:6:7', '2001:db8:0:3::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, ''],
  ])('%s: %s', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});

/** A connection of the server, without a client. */
const from = (remoteAddress: string): Socket =>
  Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });

describe('A21: connections from one address', () => {
  it('are counted while they are open: an address without connections is forgotten', async () => {
    const refused: string[] = [];
    const onRefused = (address: string) => refused.push(address);
    const limit = new AddressLimiter({ connections: 2, handshakes: undefined, now: Date.now, onRefused });
    const sockets = ['192.0.2.1', '192.0.2.1', '192.0.2.2'].map((address) => from(address));
    expect(sockets.map((socket) => limit.accept(socket))).toEqual([true, true, true]);
    // It has no handle that could be reset.
    const third = from('192.0.2.1').on('error', () => {});
    expect([limit.accept(third), third.destroyed, refused]).toEqual([false, true, ['192.0.2.1']]);
    expect(limit.size).toBe(2);
    const closed = sockets.map((socket) => once(socket, 'close'));
    for (const socket of sockets.slice(0, 2)) socket.destroy();
    await Promise.all(closed.slice(0, 2));
    expect(limit.size).toBe(1);
    sockets[2]?.destroy();
    await closed[2];
    expect(limit.size).toBe(0);
  });

  it('are closed past the limit, and those from another address are not', async () => {
    const { port, send } = await startFixture(undefined, { maxConnectionsPerAddress: 2 });
    const idle = async (localAddress: string) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      socket.on('error', () => {});
      const closed = new Promise<void>((done) => socket.once('close', () => done()));
      await Promise.race([new Promise<void>((done) => socket.once('connect', () => done())), closed]);
      return { socket, closed };
    };
    const open = [await idle('127.0.0.2'), await idle('127.0.0.2')];
    const third = await idle('127.0.0.2');
    await third.closed;
    expect((await send({ path: '/livez', token: '' })).code).toBe(200);
    open[0]?.socket.destroy();
    // The server notices a moment later.
    for (;;) {
      const next = await idle('127.0.0.2');
      next.socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
      const answered = new Promise<boolean>((resolve) => next.socket.once('data', () => resolve(true)));
      if (await Promise.race([answered, next.closed.then(() => false)])) break;
    }
    open[1]?.socket.destroy();
  });
});
