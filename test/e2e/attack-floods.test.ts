import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytes, clientHello } from './support/client-hello.ts';
import { createFloods, type Flood } from './support/hostile-floods.ts';
import { sendRaw } from './support/raw-http.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';

/** Hostile TLS handshakes and floods of connections. */

let server: Server;

beforeAll(async () => {
  server = await startServer({ tls: true, users: { bad: ['system:masters'] }, args: ['--demo'] });
});
afterAll(() => server.destroy());

/** C-H: names in a TLS handshake that no client library would send. */

const isAlert = (answer: string): boolean => answer.charCodeAt(0) === 0x15;
const isServerHello = (answer: string): boolean => answer.charCodeAt(0) === 0x16 && answer.charCodeAt(5) === 2;

describe('C-H, A20: the name in a TLS handshake', () => {
  it('the ClientHello of this test gets a response', async () => {
    expect(isServerHello(await sendRaw(server, clientHello({ name: Buffer.from('localhost') })))).toBe(true);
  });

  it.each<[string, Uint8Array]>([
    ['with a NUL', Buffer.from('localhost\0.evil.example')],
    ['of nothing but NUL', bytes(0)],
    ['without a letter', bytes()],
    ['of 500 characters', Buffer.from(`${'a'.repeat(492)}.example`)],
    ['of 16,000 characters', Buffer.from('a'.repeat(16_000))],
    ['that is no text', bytes(0xff, 0xfe, 0x0d, 0x0a)],
  ])('%s does no harm', async (_, name) => {
    const answer = await sendRaw(server, clientHello({ name }));
    expect(isAlert(answer) || isServerHello(answer), Buffer.from(answer, 'latin1').toString('hex').slice(0, 40)).toBe(
      true,
    );
    expect((await server.call('GET', '/livez', { token: null })).text).toBe('ok');
  });
});

describe('floods', () => {
  /** Sends one attempt, and ends with the response or when the connection is closed. */
  function send({ over, leaves }: Flood, bytes: string | Uint8Array): Promise<void> {
    const port = Number(new URL(server.url).port);
    return new Promise((resolve) => {
      const socket: Socket =
        over === 'raw'
          ? connect(port, '127.0.0.1')
          : connectSecurely({ port, host: 'localhost', servername: 'localhost' });
      socket.on('error', () => {});
      socket.once('close', () => resolve());
      socket.once('data', () => socket.destroy());
      socket.write(bytes, () => {
        if (leaves === true) socket.destroy();
      });
    });
  }

  it.each(createFloods(tokenOf('bad')).map((flood) => [flood.name, flood] as const))(
    '%s: the process survives, and other clients are served',
    async (_, flood) => {
      await Promise.all(flood.sent.slice(0, 40).map((bytes) => send(flood, bytes)));
      const path = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
      expect((await server.call('POST', path, { body: { spec: { audiences: ['x'] } } })).code).toBe(201);
      expect(process.kill(server.pid, 0)).toBe(true);
    },
  );

  it('A20: the floods caused no unexpected error', () => {
    expect(server.output.stderr).not.toMatch(/"level":"(error|fatal)"|uncaught|unhandled/i);
  });
});
