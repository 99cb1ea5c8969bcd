import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { selfSigned } from '../../clusters/upstream/certificates.fixture.ts';
import { CLUSTERS_PATH, startFixture } from '../http.fixture.ts';
import { DeferredHandshakeServer } from './handshakes.ts';

afterEach(() => vi.useRealTimers());

describe('A20: a server for TLS', () => {
  const dir = mkdtempSync(join(tmpdir(), 'clusterpass-handshakes-'));
  const tls = { certFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key') };
  const { cert, key } = selfSigned('handshakes');
  writeFileSync(tls.certFile, cert);
  writeFileSync(tls.keyFile, key, { mode: 0o600 });

  it('refuses handshakes past the burst of an address, which those of callers who authenticate do not use up', async () => {
    // The bucket is not refilled.
    vi.useFakeTimers({ toFake: ['performance'] });
    const { port, server } = await startFixture(undefined, { tls, handshakesPerAddress: 1 });
    const open = (localAddress = '127.0.0.1'): Promise<TLSSocket | 'refused'> => {
      const options = { port, host: '127.0.0.1', localAddress, rejectUnauthorized: false };
      const socket = tlsConnect(options).on('error', () => {});
      onTestFinished(() => void socket.destroy());
      return new Promise((resolve) => {
        socket.once('secureConnect', () => resolve(socket)).once('close', () => resolve('refused'));
      });
    };
    const ask = async (): Promise<void> => {
      const caller = await open();
      if (caller === 'refused') throw new Error(caller);
      // A connection gives its token back once.
      for (let requests = 0; requests < 2; requests += 1) {
        caller.write(`GET ${CLUSTERS_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`);
        await once(caller, 'data');
      }
    };
    for (let index = 0; index < 12; index += 1) await ask();
    for (let index = 0; index < 10; index += 1) await open();
    expect(server.handshakes().rejected).toBe(0);
    expect(await open()).toBe('refused');
    expect(server.handshakes().rejected).toBe(1);
    await open('127.0.0.2');
    expect(server.handshakes().rejected).toBe(1);
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
