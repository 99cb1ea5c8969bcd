import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { WatchSink } from '../../api/request.ts';
import { selfSigned } from '../../clusters/upstream/certificates.fixture.ts';
import { CLUSTERS_PATH, closeOf, startFixture } from '../http.fixture.ts';

/** Whether a new connection is refused. */
const isRefused = (send: (request: { path: string }) => Promise<unknown>): Promise<boolean> =>
  send({ path: '/livez' }).then(
    () => false,
    () => true,
  );

describe('B16: drain', () => {
  test('requests in flight finish, then everything is closed', async () => {
    const release = Promise.withResolvers<void>();
    const { server, send, handled, port } = await startFixture(async () => {
      await release.promise;
      return { type: 'value', code: 200, value: { done: true } };
    });
    const inFlight = send({ path: CLUSTERS_PATH, headers: { connection: 'keep-alive' } });
    await expect.poll(() => handled.length).toBe(1);
    const drained = server.drain();
    expect(server.drain()).toBe(drained);
    await expect.poll(() => isRefused(send)).toBe(true);
    release.resolve();
    const reply = await inFlight;
    expect(reply.json()).toEqual({ done: true });
    expect(reply.headers.connection).toBe('close');
    await drained;
    const refused = connect(port, '127.0.0.1');
    await closeOf(refused);
    expect(refused.bytesRead).toBe(0);
  });

  test('A41: a write whose client has left is waited for, and recorded', async () => {
    const { server, handled, port, records } = await startFixture(async ({ signal }) => {
      const written = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => setTimeout(written.resolve, 100));
      await written.promise;
      return { type: 'value', code: 201, value: {} };
    });
    const socket = connect(port, '127.0.0.1');
    const lines = [`POST ${CLUSTERS_PATH} HTTP/1.1`, 'Host: x', 'Authorization: Bearer admin', 'Content-Length: 2'];
    socket.write(`${lines.join('\r\n')}\r\nContent-Type: application/json\r\n\r\n{}`);
    await expect.poll(() => handled.length).toBe(1);
    socket.destroy();
    await server.drain();
    expect(records).toMatchObject([{ code: 0 }]);
  });

  test('readiness fails first, while requests are still served', async () => {
    const delay = Promise.withResolvers<void>();
    const { server, send } = await startFixture(undefined, { drainDelayMs: 5000, sleep: () => delay.promise });
    expect((await send({ path: '/readyz' })).code).toBe(200);
    const drained = server.drain();
    const ready = await send({ path: '/readyz' });
    expect(ready.code).toBe(503);
    expect(ready.text).toContain('[-]shutdown failed');
    expect((await send({ path: CLUSTERS_PATH })).code).toBe(200);
    delay.resolve();
    await drained;
  });

  test('a request that has arrived but is not read yet is answered', async () => {
    const { server, port, records } = await startFixture(undefined, { limits: { keepAliveTimeoutMs: 3_600_000 } });
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes;
    });
    const ended = once(socket, 'end');
    const request = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
    socket.write(request);
    await expect.poll(() => records.length).toBe(1);
    socket.write(request);
    await server.drain();
    await ended;
    expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });

  test('an answer and a watch that begin and end during it hold it no longer than they last', async () => {
    const release = Promise.withResolvers<void>();
    const limits = { keepAliveTimeoutMs: 3_600_000, drainTimeoutMs: 3_600_000 };
    const { server, port, handled, send } = await startFixture(
      async ({ target }) => {
        if (target.verb !== 'watch')
          return { type: 'value', code: 200, value: { large: 'x'.repeat(32 * 1024 * 1024) } };
        await release.promise;
        return { type: 'watch', start: () => {} };
      },
      { limits },
    );
    const open = (query: string): Socket => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`GET ${CLUSTERS_PATH}${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`);
      return socket;
    };
    const answer = open('');
    await once(answer, 'readable');
    // Its header does not say that the connection will be closed.
    expect(String(answer.read())).not.toMatch(/\r\nconnection: close\r\n/i);
    const watch = open('?watch=1').resume();
    await expect.poll(() => handled.length).toBe(2);
    let isDrained = false;
    const drained = server.drain().then(() => {
      isDrained = true;
    });
    await expect.poll(() => isRefused(send)).toBe(true);
    expect(isDrained).toBe(false);
    answer.resume();
    release.resolve();
    await Promise.all([drained, closeOf(answer), closeOf(watch)]);
  });
});

test('A21: connections beyond the limit are refused, and served again when one is free', async () => {
  const { port, send, lines } = await startFixture(undefined, { maxConnections: 1 });
  const first = connect(port, '127.0.0.1');
  await new Promise<void>((resolve) => first.once('connect', resolve));
  await expect
    .poll(async () =>
      send({ path: '/livez' }).then(
        () => 'served',
        () => 'refused',
      ),
    )
    .toBe('refused');
  expect(lines.some((line) => line.includes('too many'))).toBe(true);
  first.destroy();
  await expect
    .poll(async () =>
      send({ path: '/livez' }).then(
        ({ code }) => code,
        () => 0,
      ),
    )
    .toBe(200);
});

/** The open sockets of the server, by a diagnostics channel of Node. */
function serverSockets(): { open: () => number; stop: () => void } {
  const sockets: Socket[] = [];
  const note = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
  subscribe('net.server.socket', note);
  return {
    open: () => sockets.filter((socket) => !socket.destroyed).length,
    stop: () => unsubscribe('net.server.socket', note),
  };
}

describe('A21: the server does not wait for a client that does nothing more', () => {
  const ask = (query = '') => `GET ${CLUSTERS_PATH}${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`;
  const large = 'x'.repeat(32 * 1024 * 1024);
  const impatient = {
    servingMs: 50,
    unreadMs: 50,
    limits: { lingerMs: 50, headersTimeoutMs: 100, requestTimeoutMs: 200, checkIntervalMs: 50 },
  };

  test.each([
    ['an answer', ask()],
    ['the answer to a watch that is refused', ask('?watch=1')],
    ['the second of two answers', ask() + ask()],
  ])('%s that is not read: the connection is closed', async (_name, sent) => {
    const answer = { type: 'value', code: 200, value: { large } } as const;
    const { port, handled } = await startFixture(() => answer, impatient);
    const sockets = serverSockets();
    const socket = connect(port, '127.0.0.1').pause();
    socket.on('error', () => {});
    socket.write(sent);
    await expect.poll(() => handled.length).toBeGreaterThan(0);
    await expect.poll(sockets.open).toBe(0);
    sockets.stop();
    socket.destroy();
  });

  test('the rest of a watch that has ended and is not read: the connection is closed', async () => {
    const start = (sink: WatchSink): void => {
      sink.write(Buffer.alloc(32 * 1024 * 1024));
      sink.end();
    };
    const { port, handled } = await startFixture(() => ({ type: 'watch', start }), impatient);
    const sockets = serverSockets();
    const socket = connect(port, '127.0.0.1').pause();
    socket.on('error', () => {});
    socket.write(ask('?watch=1'));
    await expect.poll(() => handled.length).toBe(1);
    await expect.poll(sockets.open).toBe(0);
    sockets.stop();
    socket.destroy();
  });

  test.each([
    ['nothing', ''],
    ['half a header', 'GET / HTTP/1.1\r\nHo'],
    ['what is no request', 'x\r\n\r\n'],
  ])('a client that sends %s and never closes its side is closed', async (_name, sent) => {
    const { port } = await startFixture(undefined, impatient);
    const sockets = serverSockets();
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume();
    await once(socket, 'connect');
    socket.write(sent);
    await once(socket, 'end');
    await expect.poll(sockets.open).toBe(0);
    sockets.stop();
    socket.destroy();
  });
});

test('a request that waits behind a watch on the same connection leaves the watch alone', async () => {
  const { port, handled } = await startFixture(
    (request) =>
      request.target.verb === 'watch' ? { type: 'watch', start: () => {} } : { type: 'value', code: 200, value: {} },
    { servingMs: 20, unreadMs: 20 },
  );
  const socket = connect(port, '127.0.0.1').resume();
  let isClosed = false;
  socket.once('close', () => {
    isClosed = true;
  });
  const head = 'HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n';
  socket.write(`GET ${CLUSTERS_PATH}?watch=1 ${head}GET ${CLUSTERS_PATH} ${head}`);
  await expect.poll(() => handled.length).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(isClosed).toBe(false);
  socket.destroy();
});

test('A22: an error in the body of a watch ends it, and no answer is in the middle of its events', async () => {
  const start = (sink: WatchSink): void => void sink.write(Buffer.from('{"type":"ADDED"}\n'));
  const { port } = await startFixture(() => ({ type: 'watch', start }));
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  let received = '';
  socket.on('data', (text) => {
    received += text;
  });
  const headers = 'Host: x\r\nAuthorization: Bearer admin\r\nTransfer-Encoding: chunked\r\n';
  socket.write(`GET ${CLUSTERS_PATH}?watch=1 HTTP/1.1\r\n${headers}\r\n`);
  await expect.poll(() => received).toContain('ADDED');
  socket.write('no length\r\n');
  await closeOf(socket);
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
});

describe('TLS', () => {
  const dir = mkdtempSync(join(tmpdir(), 'clusterpass-tls-'));
  const certFile = join(dir, 'tls.crt');
  const keyFile = join(dir, 'tls.key');
  const pairs: Record<string, { cert: string; key: string }> = {
    old: selfSigned('old'),
    new: selfSigned('new'),
    rsa: selfSigned('rsa', { keyType: 'rsa' }),
    short: selfSigned('short', { notAfter: Date.now() + 3_600_000 }),
    expired: selfSigned('expired', { notAfter: Date.now() - 3_600_000 }),
    early: selfSigned('early', { notBefore: Date.now() + 3_600_000 }),
  };
  const install = (cert: string, key = cert): void => {
    writeFileSync(certFile, pairs[cert]?.cert ?? '');
    writeFileSync(keyFile, pairs[key]?.key ?? '', { mode: 0o600 });
  };

  const handshake = (port: number, options: object = {}): Promise<TLSSocket> =>
    new Promise((resolve, reject) => {
      const socket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () =>
        resolve(socket),
      );
      socket.on('error', reject);
    });
  /** What a TLS client sends first. */
  const clientHello = async (): Promise<Buffer> => {
    const [near, far] = duplexPair();
    const client = tlsConnect({ socket: near }).on('error', () => {});
    const [bytes] = (await once(far, 'data')) as [Buffer];
    client.destroy();
    return bytes;
  };
  const servedName = async (port: number): Promise<unknown> => {
    const socket = await handshake(port);
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return CN;
  };

  test('a renewed certificate is taken up; a bad one is reported once and the old one stays', async () => {
    install('old');
    const { port, server, lines } = await startFixture(undefined, { tls: { certFile, keyFile } });
    expect(await servedName(port)).toBe('old');

    install('new', 'old');
    await server.reloadCertificate();
    await server.reloadCertificate();
    expect(await servedName(port)).toBe('old');
    expect(lines.filter((line) => line.includes('not reloaded'))).toHaveLength(1);

    install('new');
    await server.reloadCertificate();
    await server.reloadCertificate();
    expect(await servedName(port)).toBe('new');
    expect(lines.filter((line) => line.includes('certificate reloaded'))).toHaveLength(1);

    install('old', 'new');
    await server.reloadCertificate();
    expect(lines.filter((line) => line.includes('not reloaded'))).toHaveLength(2);
    install('old');
    await server.reloadCertificate();
    expect(await servedName(port)).toBe('old');
  });

  test('a certificate that is not valid now does not replace one that is', async () => {
    install('old');
    const { port, server, lines } = await startFixture(undefined, { tls: { certFile, keyFile } });
    for (const [name, problem] of [
      ['expired', /tls\.crt has expired: it was valid until \d{4}-/],
      ['early', /tls\.crt is not valid yet: it is valid from \d{4}-/],
    ] as const) {
      install(name);
      await server.reloadCertificate();
      await server.reloadCertificate();
      expect(await servedName(port)).toBe('old');
      expect(lines.filter((line) => problem.test(line))).toHaveLength(1);
    }
    expect(lines.join()).not.toContain('certificate reloaded');
  });

  test('a start with a certificate that is not valid now is warned of, and any other one replaces it', async () => {
    install('expired');
    const { port, server, lines } = await startFixture(undefined, { tls: { certFile, keyFile } });
    expect(lines.filter((line) => line.includes('clients refuse the TLS certificate'))).toHaveLength(1);
    install('early');
    await server.reloadCertificate();
    expect(await servedName(port)).toBe('early');
    expect(lines.filter((line) => line.includes('clients refuse the TLS certificate'))).toHaveLength(2);
    install('new');
    await server.reloadCertificate();
    expect(await servedName(port)).toBe('new');
    expect(lines.filter((line) => line.includes('clients refuse the TLS certificate'))).toHaveLength(2);
  });

  test('A21: a client that stops in the middle of its handshake is closed', async () => {
    install('old');
    const { port } = await startFixture(undefined, { tls: { certFile, keyFile }, limits: { handshakeTimeoutMs: 100 } });
    const sockets = serverSockets();
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(await clientHello());
    await once(socket, 'data');
    await expect.poll(sockets.open).toBe(0);
    sockets.stop();
    socket.destroy();
  });

  test('A1: a key that others can read is an error of listen(), and is not taken up while running', async () => {
    install('old');
    const { port, server, lines } = await startFixture(undefined, { tls: { certFile, keyFile } });
    install('new');
    chmodSync(keyFile, 0o640);
    onTestFinished(() => chmodSync(keyFile, 0o600));
    await expect(startFixture(undefined, { tls: { certFile, keyFile } })).rejects.toThrow(/chmod 600/);
    await server.reloadCertificate();
    expect(await servedName(port)).toBe('old');
    expect(lines.join()).toContain('chmod 600');
  });

  test('TLS has authenticated encryption with forward secrecy only, also with a renewed certificate', async () => {
    install('old');
    const { port, server } = await startFixture(undefined, { tls: { certFile, keyFile } });
    const agreed = async (options: object): Promise<string> => {
      const socket = await handshake(port, options);
      const { name } = socket.getCipher();
      socket.destroy();
      return name;
    };
    const modern = { maxVersion: 'TLSv1.2', ciphers: 'AES256-GCM-SHA384:ECDHE+AES256+AESGCM' };
    for (const certificate of ['old', 'new', 'rsa']) {
      install(certificate);
      await server.reloadCertificate();
      expect(await agreed({})).toBe('TLS_AES_128_GCM_SHA256');
      expect(await agreed({ ciphers: 'TLS_CHACHA20_POLY1305_SHA256' })).toBe('TLS_CHACHA20_POLY1305_SHA256');
      expect(await agreed(modern)).toMatch(/^ECDHE-.*-AES256-GCM-SHA384$/);
      for (const ciphers of ['kRSA', 'ECDHE+AES+SHA256:!AESGCM']) {
        const refused = handshake(port, { maxVersion: 'TLSv1.2', ciphers });
        await expect(refused).rejects.toMatchObject({ code: 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE' });
      }
    }
  });

  test('A20, C-H: a client cannot have further handshakes on its connection', async () => {
    install('old');
    const { port, server } = await startFixture(undefined, { tls: { certFile, keyFile } });
    for (const certificate of ['old', 'new']) {
      install(certificate);
      await server.reloadCertificate();
      const socket = await handshake(port, { maxVersion: 'TLSv1.2' });
      const outcome = await new Promise((resolve) => {
        socket.removeAllListeners('error').on('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
        socket.renegotiate({ rejectUnauthorized: false }, () => resolve('a second handshake'));
      });
      expect(outcome).toBe('ERR_SSL_NO_RENEGOTIATION');
      socket.destroy();
    }
  });

  test.each([
    ['an answer', 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['an error', `GET ${CLUSTERS_PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`],
    ['the answer to what is no request', 'x\r\n\r\n'],
  ])('C-H: browsers that saw %s over TLS use no plain HTTP with this host any more', async (_name, sent) => {
    install('old');
    const strictTransportSecurity = 'max-age=31536000';
    const header = `\r\nStrict-Transport-Security: ${strictTransportSecurity}\r\n`;
    const { port } = await startFixture(undefined, { tls: { certFile, keyFile }, strictTransportSecurity });
    const socket = await handshake(port);
    socket.write(sent);
    let text = '';
    for await (const chunk of socket) text += chunk;
    expect(text).toContain(header);
    const plain = await startFixture();
    expect(await plain.raw(sent)).not.toContain('Strict-Transport-Security');
  });

  test('C-H: only HTTP/1.1 over TLS 1.2 and later, and no handshake brings it down', async () => {
    install('old');
    const { port, raw } = await startFixture(undefined, { tls: { certFile, keyFile } });
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' };
    // The server's own alert, not the client's unwillingness.
    await expect(handshake(port, old)).rejects.toMatchObject({ code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' });
    await expect(handshake(port, { ALPNProtocols: ['h2'] })).rejects.toMatchObject({
      code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
    });
    // What is recorded today is not to be read with a quantum computer later.
    (await handshake(port, { ecdhCurve: 'X25519MLKEM768', minVersion: 'TLSv1.3' })).destroy();
    await raw('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await raw(`\x16\x03\x01${'\0'.repeat(300)}`);
    const long = await handshake(port, { servername: `${'a'.repeat(500)}.example` });
    long.destroy();
    const socket = await handshake(port, { ALPNProtocols: ['http/1.1'] });
    expect(socket.alpnProtocol).toBe('http/1.1');
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    let text = '';
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/);
  });
});
