import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytes, clientHello } from './support/client-hello.ts';
import { sendRaw } from './support/raw-http.ts';
import { type Server, startServer } from './support/server.ts';

/** C-H: names in a TLS handshake that no client library would send. */

let server: Server;

beforeAll(async () => {
  server = await startServer({ tls: true });
});
afterAll(() => server.destroy());

const isAlert = (answer: string): boolean => answer.charCodeAt(0) === 0x15;
const isServerHello = (answer: string): boolean => answer.charCodeAt(0) === 0x16 && answer.charCodeAt(5) === 2;

describe('C-H, A20: the name in a TLS handshake', () => {
  it('the hello of this test is one that is answered', async () => {
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
