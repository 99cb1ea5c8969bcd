import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { selfSigned } from '../../clusters/upstream/certificates.fixture.ts';
import { CLUSTERS_PATH, closeOf, startFixture } from '../http.fixture.ts';
import { DeferredHandshakeServer, HandshakeLimiter } from './handshakes.ts';

afterEach(() => vi.useRealTimers());

/** A burst of two, and one more each second; sockets are real, time is not. */
async function startLimiter() {
  const accepted: Socket[] = [];
  const server = createServer((socket) => accepted.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  let now = 0;
  /** What is to be called later. */
  const timers: (() => void)[] = [];
  const rejectedFor: string[] = [];
  const limiter = new HandshakeLimiter({
    perSecond: 1,
    now: () => now,
    later: (act) => timers.push(act),
    onRejected: (address) => rejectedFor.push(address),
  });
  const begun: string[] = [];
  const clients: Socket[] = [];
  onTestFinished(() => {
    for (const socket of [...accepted, ...clients]) socket.destroy();
    server.close();
  });
  /** A client connects; returns both ends. */
  const arrive = async (name: string, localAddress = '127.0.0.2') => {
    const client = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
    clients.push(client);
    const [socket] = (await once(server, 'connection')) as [Socket];
    limiter.accept(socket, () => begun.push(name));
    return { client, socket };
  };
  const passUnnoticed = (ms: number): void => {
    now += ms;
  };
  const pass = (ms: number): void => {
    passUnnoticed(ms);
    for (const act of timers.splice(0)) act();
  };
  return { limiter, arrive, pass, passUnnoticed, timers, begun, rejectedFor };
}

describe('A20: handshakes for one address', () => {
  it('begin at once up to a limit, and then one after the other in time, in order', async () => {
    const { arrive, pass, begun, limiter } = await startLimiter();
    for (const name of ['a', 'b', 'c', 'd']) await arrive(name);
    await arrive('other', '127.0.0.3');
    expect(begun).toEqual(['a', 'b', 'other']);
    pass(999);
    expect(begun).toHaveLength(3);
    pass(1);
    expect(begun).toEqual(['a', 'b', 'other', 'c']);
    await arrive('e');
    pass(1_000);
    pass(1_000);
    expect(begun.slice(4)).toEqual(['d', 'e']);
    expect(limiter.counts).toEqual({ delayed: 3, rejected: 0 });
  });

  it('do not begin before those that wait, though there is a token again', async () => {
    const { arrive, pass, passUnnoticed, begun } = await startLimiter();
    for (const name of ['a', 'b', 'waits']) await arrive(name);
    passUnnoticed(1_000);
    await arrive('newcomer');
    expect(begun).toEqual(['a', 'b']);
    pass(0);
    expect(begun).toEqual(['a', 'b', 'waits']);
  });

  it('do not count when a caller authenticates on the connection', async () => {
    const { arrive, begun, limiter } = await startLimiter();
    const { socket: first } = await arrive('a');
    const { socket: second } = await arrive('b');
    await arrive('c');
    await arrive('d');
    limiter.refund(first.remoteAddress);
    expect(begun).toEqual(['a', 'b', 'c']);
    limiter.refund(second.remoteAddress);
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });

  it('are never more at once than that, however many have authenticated', async () => {
    const { arrive, begun, limiter } = await startLimiter();
    for (let i = 0; i < 5; i += 1) limiter.refund((await arrive(`authenticated ${i}`)).socket.remoteAddress);
    for (const name of ['a', 'b', 'c']) await arrive(name);
    expect(begun.slice(5)).toEqual(['a', 'b']);
  });

  it('are rejected when more wait than can begin in ten seconds', async () => {
    const { arrive, pass, begun, limiter, rejectedFor } = await startLimiter();
    for (let i = 0; i < 12; i += 1) await arrive(`${i}`);
    const { client } = await arrive('late');
    await closeOf(client);
    expect(limiter.counts).toEqual({ delayed: 10, rejected: 1 });
    expect(rejectedFor).toEqual(['127.0.0.2']);
    for (let i = 0; i < 10; i += 1) pass(1_000);
    expect(begun).toHaveLength(12);
  });
});

describe('A20: a server for TLS', () => {
  const dir = mkdtempSync(join(tmpdir(), 'clusterpass-handshakes-'));
  const tls = { certFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key') };
  const { cert, key } = selfSigned('handshakes');
  writeFileSync(tls.certFile, cert);
  writeFileSync(tls.keyFile, key, { mode: 0o600 });

  it('serves connections that waited until others authenticated, and loses nothing of what they sent meanwhile', async () => {
    const { port, server } = await startFixture(undefined, { tls, handshakesPerAddress: 1 });
    const open = (): TLSSocket => {
      const socket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => {});
      onTestFinished(() => void socket.destroy());
      return socket.setEncoding('latin1');
    };
    const ask = async (socket: TLSSocket, token: string): Promise<string> => {
      socket.write(`GET ${CLUSTERS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      return String((await once(socket, 'data'))[0]).slice(9, 12);
    };
    const authenticated = open();
    await once(authenticated, 'secureConnect');
    const silent = open();
    await once(silent, 'secureConnect');
    const waiting = Array.from({ length: 3 }, open);
    const gone = connect(port, '127.0.0.1').on('error', () => {});
    await expect.poll(() => server.handshakes().delayed).toBe(4);
    gone.resetAndDestroy();
    const answers = waiting.map((socket) => ask(socket, 'admin'));
    expect(await ask(silent, 'wrong')).toBe('401');
    expect(await ask(authenticated, 'admin')).toBe('200');
    // Each gives its token to the next; one that has left holds it for a moment only.
    expect(await Promise.all(answers)).toEqual(['200', '200', '200']);
    await server.close();
  });

  it('gives the token of a connection back when its caller authenticates, once', async () => {
    // The bucket is not refilled.
    vi.useFakeTimers({ toFake: ['performance'] });
    const { port, server } = await startFixture(undefined, { tls, handshakesPerAddress: 1 });
    const open = (): TLSSocket => {
      const socket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => {});
      onTestFinished(() => void socket.destroy());
      return socket.setEncoding('latin1');
    };
    const isDelayed = async (socket: TLSSocket): Promise<boolean> => {
      let begun = false;
      const { delayed } = server.handshakes();
      socket.once('secureConnect', () => {
        begun = true;
      });
      await expect.poll(() => begun || server.handshakes().delayed > delayed).toBe(true);
      return !begun;
    };
    const ask = async (socket: TLSSocket): Promise<void> => {
      socket.write(`GET ${CLUSTERS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`);
      await once(socket, 'data');
    };
    const callers: TLSSocket[] = [];
    for (let index = 0; index < 5; index += 1) {
      const caller = open();
      expect(await isDelayed(caller)).toBe(false);
      await ask(caller);
      callers.push(caller);
    }
    expect([await isDelayed(open()), await isDelayed(open())]).toEqual([false, false]);
    for (const caller of callers) await ask(caller);
    expect(await isDelayed(open())).toBe(true);
    await server.close();
  });

  it('reads nothing of a connection whose handshake has to wait', async () => {
    const admitted: { socket: Socket; begin: () => void }[] = [];
    const server = new DeferredHandshakeServer({ cert, key }, (socket, begin) => admitted.push({ socket, begin }));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const open = async (client: Socket): Promise<void> => {
      onTestFinished(() => void client.on('error', () => {}).destroy());
      const before = admitted.length;
      await expect.poll(() => admitted.length).toBe(before + 1);
    };
    const wait = async (): Promise<void> => {
      const client = connect(port, '127.0.0.1');
      client.write(Buffer.alloc(100_000));
      await open(client);
    };
    await wait();
    const begun = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await open(begun);
    admitted[1]?.begin();
    await once(begun, 'secureConnect');
    for (let i = 0; i < 2; i += 1) await wait();
    expect(admitted.toSpliced(1, 1).map(({ socket }) => socket.bytesRead)).toEqual([0, 0, 0]);
    for (const { socket } of admitted) socket.destroy();
    server.close();
  });
});
