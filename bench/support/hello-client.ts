/**
 * A client process that opens many connections, and then sends a ClientHello on all of them in the same moment. It does
 * not finish the handshakes, so it costs much less than the server.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';

export interface HelloJob {
  readonly port: number;
  readonly connections: number;
  readonly localAddress: string;
}

/** Connections that are opened at once. */
const GROUP = 50;

/** The ClientHello of Node. The server responds to a copy of it, too: it does not know that it was sent before. */
async function recordHello(): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const client = connectSecurely({ port, host: '127.0.0.1' }).on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  server.close();
  return hello;
}

async function open({ port, connections, localAddress }: HelloJob): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < connections) {
    const group = Array.from({ length: Math.min(GROUP, connections - sockets.length) }, () =>
      connect({ host: '127.0.0.1', port, localAddress }),
    );
    await Promise.all(group.map((socket) => once(socket, 'connect')));
    sockets.push(...group);
  }
  return sockets;
}

/** Sends `ready` when the connections are open, and `done` when each has a response; begins at the second message. */
async function run(job: HelloJob): Promise<void> {
  const hello = await recordHello();
  const sockets = await open(job);
  const answered = Promise.all(sockets.map((socket) => once(socket, 'data')));
  const told = once(process, 'message');
  process.send?.('ready');
  await told;
  for (const socket of sockets) socket.write(hello);
  await answered;
  process.send?.('done');
}

process.once('message', (job: HelloJob) => void run(job));
process.on('disconnect', () => process.exit());
