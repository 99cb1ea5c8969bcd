import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { expect, it } from 'vitest';
import { selfSigned } from './self-signed.ts';

const DAY_MS = 86_400_000;
const made = (from = Date.now() - DAY_MS, until = Date.now() + DAY_MS) =>
  selfSigned(['127.0.0.1', 'localhost'], new Date(from), new Date(until));

it('is a certificate for its names and its time, and no CA', () => {
  const { cert } = made(Date.parse('2026-09-01T12:00:00Z'), Date.parse('2056-09-01T12:00:00Z'));
  const read = new X509Certificate(cert);
  expect(read.checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(read.checkHost('localhost')).toBe('localhost');
  expect(read.checkIP('127.0.0.2')).toBeUndefined();
  expect([read.validFromDate.toISOString(), read.validToDate.toISOString()]).toEqual([
    '2026-09-01T12:00:00.000Z',
    '2056-09-01T12:00:00.000Z',
  ]);
  expect([read.ca, read.verify(read.publicKey), read.keyUsage]).toEqual([false, true, ['1.3.6.1.5.5.7.3.1']]);
});

it('is accepted by a client that trusts it, and by no other', async () => {
  const pair = made();
  const server = createServer({ ...pair }, (socket) => socket.end('hello')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const trusting = connect({ host: '127.0.0.1', port, ca: pair.cert });
  const [text] = await once(trusting, 'data');
  expect(String(text)).toBe('hello');
  await expect(once(connect({ host: '127.0.0.1', port, ca: made().cert }), 'secureConnect')).rejects.toThrow();
  server.close();
});
