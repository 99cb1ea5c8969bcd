import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { afterEach, expect, it } from 'vitest';
import { Members } from './members.ts';
import { WATCH_PATH } from './messages.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Members of an etcd cluster with one member, which handles watches as the test says. */
async function membersWith(watch: (call: ServerDuplexStream<Buffer, Buffer>) => void): Promise<Members> {
  const server = new Server();
  const bytes = (value: Buffer): Buffer => value;
  server.register(WATCH_PATH, watch, bytes, bytes, 'bidi');
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const members = new Members({ endpoints: [`127.0.0.1:${port}`] });
  ends.push(() => {
    members.close();
    server.forceShutdown();
  });
  return members;
}

it('gives up the compacted revision when its time is over and streams end without an answer', async () => {
  let streams = 0;
  const members = await membersWith((call) => {
    streams += 1;
    call.end();
  });
  await expect(members.compactRevision(Buffer.from('k'), { attemptMs: 5_000, totalMs: 300 })).rejects.toMatchObject({
    code: 'unavailable',
    message: 'etcd ended a stream without a response',
  });
  // The first attempt, and at most one each 100 ms.
  expect(streams).toBeLessThan(5);
});

it('asks again for the compacted revision after a stream that ended without an answer', async () => {
  let streams = 0;
  const members = await membersWith((call) => {
    streams += 1;
    // Field 5 of a WatchResponse is compact_revision.
    if (streams === 2) call.write(Buffer.from([5 << 3, 7]));
    else call.end();
  });
  expect(await members.compactRevision(Buffer.from('k'), { attemptMs: 5_000, totalMs: 10_000 })).toBe(7);
});
