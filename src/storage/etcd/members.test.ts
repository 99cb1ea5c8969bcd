import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Server, ServerCredentials, type ServerDuplexStream, type sendUnaryData } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { Members } from './members.ts';
import { STATUS, WATCH_PATH, watchRequest, watchResponse } from './messages.ts';

/** Members of an etcd cluster with one member, which handles watches as the test says. */
async function membersWith(
  watch: (call: ServerDuplexStream<Buffer, Buffer>) => void,
  inFront: (port: number) => Promise<number> = async (port) => port,
): Promise<Members> {
  const server = new Server();
  const bytes = (value: Buffer): Buffer => value;
  server.register(WATCH_PATH, watch, bytes, bytes, 'bidi');
  const answerStatus = (_: unknown, answer: sendUnaryData<Buffer>): void => answer(null, Buffer.of());
  server.register(STATUS.path, answerStatus, bytes, bytes, 'unary');
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const members = new Members({ endpoints: [`127.0.0.1:${await inFront(port)}`] });
  onTestFinished(() => {
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

/** In front of a server. What is sent over connections that are lost arrives nowhere. */
async function lossyFront(to: number): Promise<{ port: number; lose: () => void }> {
  const lost = new Set<Socket>();
  const sockets = new Set<Socket>();
  const front = createServer((near) => {
    const far = connect(to, '127.0.0.1');
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => lost.has(from) || other.write(bytes));
      from.on('error', () => {}).on('close', () => other.destroy());
    }
  });
  await once(front.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    front.close();
    for (const socket of sockets) socket.destroy();
  });
  const lose = (): void => {
    for (const socket of sockets) lost.add(socket);
  };
  return { port: (front.address() as AddressInfo).port, lose };
}

it('asks a member from which nothing has come for seconds over a new connection', async () => {
  let lose = (): void => {};
  const members = await membersWith(
    (call) => call.end(),
    async (port) => {
      const front = await lossyFront(port);
      lose = front.lose;
      return front.port;
    },
  );
  const ask = (totalMs: number) =>
    members.callIdempotent(STATUS, {}, { attemptMs: 1_000, totalMs }, { doing: 'say its state' });
  await ask(5_000);
  lose();
  // Less than until a ping is sent.
  await ask(9_500);
});
