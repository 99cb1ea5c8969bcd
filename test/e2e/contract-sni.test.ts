import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendRaw } from './support/raw-http.ts';
import { type Server, startServer } from './support/server.ts';

/** C-H: names in a TLS handshake that no client library would send. */

let server: Server;

beforeAll(async () => {
  server = await startServer({ tls: true });
});
afterAll(() => server.destroy());

/** Bytes behind their length, in so many octets. */
function counted(octets: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const length = Buffer.alloc(octets);
  length.writeUIntBE(content.length, 0, octets);
  return Buffer.concat([length, content]);
}
const bytes = (...values: number[]): Buffer => Buffer.from(values);
const extension = (type: number, ...parts: readonly Uint8Array[]): Buffer =>
  Buffer.concat([bytes(type >> 8, type & 0xff), counted(2, ...parts)]);

/** A whole ClientHello of TLS 1.2 (RFC 5246 7.4.1.2) that asks for this name (RFC 6066 section 3). */
function clientHello(name: Uint8Array): Buffer {
  const extensions = counted(
    2,
    extension(0x0000, counted(2, bytes(0), counted(2, name))),
    // Curves, point formats and signatures, without which the server has nothing to choose from.
    extension(0x000a, counted(2, bytes(0x00, 0x1d, 0x00, 0x17))),
    extension(0x000b, counted(1, bytes(0))),
    extension(0x000d, counted(2, bytes(0x04, 0x03, 0x08, 0x04, 0x04, 0x01))),
  );
  const hello = Buffer.concat([
    bytes(3, 3),
    randomBytes(32),
    bytes(0),
    counted(2, bytes(0xc0, 0x2b, 0xc0, 0x2f)),
    counted(1, bytes(0)),
    extensions,
  ]);
  return Buffer.concat([bytes(0x16, 3, 1), counted(2, bytes(1), counted(3, hello)), closeNotify]);
}
/** The client says good-bye in the same breath, so that the server ends the connection whatever it made of the name. */
const closeNotify = bytes(0x15, 3, 3, 0, 2, 1, 0);

const isAlert = (answer: string): boolean => answer.charCodeAt(0) === 0x15;
const isServerHello = (answer: string): boolean => answer.charCodeAt(0) === 0x16 && answer.charCodeAt(5) === 2;

describe('C-H, A20: the name in a TLS handshake', () => {
  it('the hello of this test is one that is answered', async () => {
    expect(isServerHello(await sendRaw(server, clientHello(Buffer.from('localhost'))))).toBe(true);
  });

  it.each<[string, Uint8Array]>([
    ['with a NUL', Buffer.from('localhost\0.evil.example')],
    ['of nothing but NUL', bytes(0)],
    ['without a letter', bytes()],
    ['of 500 characters', Buffer.from(`${'a'.repeat(492)}.example`)],
    ['of 16,000 characters', Buffer.from('a'.repeat(16_000))],
    ['that is no text', bytes(0xff, 0xfe, 0x0d, 0x0a)],
  ])('%s does no harm', async (_, name) => {
    const answer = await sendRaw(server, clientHello(name));
    expect(isAlert(answer) || isServerHello(answer), Buffer.from(answer, 'latin1').toString('hex').slice(0, 40)).toBe(
      true,
    );
    expect((await server.call('GET', '/livez', { token: null })).text).toBe('ok');
  });
});
