import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { addCluster, PUBLIC_LIST, revisionNow, touch } from './support/fleet.ts';
import type { Server } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';
import { Watch } from './support/watch.ts';

let server: Server;

beforeAllWithServer(async (shared) => {
  server = shared;
  await addCluster(server, 'a');
});

/** A client that opens a watch and then does not read. */
function stalledWatch(path: string): Socket {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.adminToken}\r\n\r\n`);
  return socket;
}

/** The bytes that the client can still read, and whether the server ended the stream properly. */
function drain(socket: Socket): Promise<{ bytes: number; ended: boolean }> {
  return new Promise((resolve) => {
    let bytes = 0;
    let tail = '';
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      tail = (tail + chunk.toString('latin1')).slice(-7);
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve({ bytes, ended: tail === '\r\n0\r\n\r\n' }));
    socket.resume();
  });
}

const KIB = 1024;
const NOTE_BYTES = 250 * KIB;
/**
 * More than the kernel takes for a client that does not read: both of its buffers together may be 36 MiB
 * (tcp_wmem and tcp_rmem), and the server adds the one that it allows.
 */
const WRITES = 200;

it('B14, V-14: a client that does not read is disconnected; others miss nothing', async () => {
  const start = await revisionNow(server);
  const path = `${PUBLIC_LIST}?watch=true&resourceVersion=${start}`;
  const stalled = stalledWatch(path);
  const good = await Promise.all([1, 2, 3].map(() => Watch.open(server, path)));
  const versions: number[] = [];
  const reading = good.map(async (watch) => {
    const got: number[] = [];
    for (const event of await watch.take(WRITES)) got.push(Number(event.object.metadata.resourceVersion));
    return got;
  });
  for (let count = 0; count < WRITES; count++) {
    versions.push(await touch(server, 'a', String(count % 10).repeat(NOTE_BYTES)));
  }
  for (const got of reading) expect(await got).toEqual(versions);
  const { bytes, ended } = await drain(stalled);
  expect(ended).toBe(false);
  expect(bytes).toBeLessThan(WRITES * NOTE_BYTES);
  for (const watch of good) watch.close();
});

it('a client that resumes far back gets the events as fast as it reads', async () => {
  const start = await revisionNow(server);
  const versions: number[] = [];
  for (let count = 0; count < 40; count++)
    versions.push(await touch(server, 'a', String(count % 10).repeat(NOTE_BYTES)));
  // Ten megabytes of history: the limit for slow clients must not count them.
  const watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${start}`);
  const now = await touch(server, 'a', 'live');
  const events = await watch.take(versions.length + 1);
  expect(events.map(({ object }) => Number(object.metadata.resourceVersion))).toEqual([...versions, now]);
  watch.close();
});
