import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { afterEach, expect, it } from 'vitest';
import { Members } from './members.ts';
import { WATCH_PATH, watchRequest, watchResponse } from './messages.ts';

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

it('rejects a call whose stream ends without an answer', async () => {
  const members = await membersWith((call) => call.end());
  const call = members.callStream(WATCH_PATH, watchRequest, watchResponse, { progress: {} }, 5_000);
  await expect(call).rejects.toMatchObject({
    code: 'unavailable',
    message: 'etcd ended a stream without a response',
  });
});
