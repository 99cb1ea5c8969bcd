import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addCluster, grantAllClusters, PUBLIC_LIST, revisionNow, touch } from './support/fleet.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';
import { Watch } from './support/watch.ts';

let server: Server;

beforeAllWithServer(async (shared) => {
  server = shared;
  await addCluster(server, 'a');
});

/** A client that opens a watch and then does not read. */
function stalledWatch(path: string, at = server, token = at.adminToken): Socket {
  const { hostname, port } = new URL(at.url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`);
  return socket;
}

/** The bytes that the client can still read, their end, and whether the server ended the stream properly. */
function drain(socket: Socket): Promise<{ bytes: number; ended: boolean; tail: string }> {
  return new Promise((resolve) => {
    let bytes = 0;
    let tail = '';
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      tail = (tail + chunk.toString('latin1')).slice(-500);
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve({ bytes, ended: tail.endsWith('\r\n0\r\n\r\n'), tail }));
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

describe('FA-3: limits of one caller', () => {
  let small: Server;
  beforeAll(async () => {
    const limits = ['--max-request-memory-per-caller', '4', '--max-watches-per-caller', '40'];
    small = await startServer({ users: { greedy: [], other: [] }, args: limits });
    await addCluster(small, 'a');
    for (const user of ['greedy', 'other']) await grantAllClusters(small, `sees-${user}`, user);
  });
  afterAll(() => small.destroy());

  it('watches of a caller that does not read end with 410; those of another caller go on', async () => {
    const start = await revisionNow(small);
    const path = `${PUBLIC_LIST}?watch=true&resourceVersion=${start}`;
    const stalled = Array.from({ length: 40 }, () => stalledWatch(path, small, tokenOf('greedy')));
    const metrics = async (): Promise<string> => (await small.call('GET', '/metrics')).text;
    await expect
      .poll(metrics)
      .toContain('apiserver_flowcontrol_current_executing_requests{priority_level="watches"} 40');
    expect((await small.call('GET', path, { token: tokenOf('greedy') })).json.message).toBe(
      'too many requests at once (watches), please try again later',
    );
    const good = await Watch.open(small, path, tokenOf('other'));
    const reading = good.take(WRITES);
    const versions: number[] = [];
    for (let count = 0; count < WRITES; count++) {
      versions.push(await touch(small, 'a', String(count % 10).repeat(NOTE_BYTES)));
    }
    expect((await reading).map(({ object }) => Number(object.metadata.resourceVersion))).toEqual(versions);
    // Not all of them: the others are below the limit, and go on.
    const drained = stalled.map(async (socket) => {
      const { ended, tail } = await drain(socket);
      if (!ended || !tail.includes('"code":410')) throw new Error(tail);
    });
    await Promise.any(drained);
    for (const socket of stalled) socket.destroy();
    await Promise.allSettled(drained);
    const ended = /^clusterpass_request_memory_ended_watches_total (\d+)$/m.exec(await metrics())?.[1];
    expect(Number(ended)).toBeGreaterThan(0);
    good.close();
    await expect.poll(metrics).toContain('\nclusterpass_request_memory_bytes 0\n');
  });
});
