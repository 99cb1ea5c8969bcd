/**
 * Stands for the API servers of a whole fleet and costs as little as TLS allows: no HTTP server, only an answer to
 * each of the two questions. Counts the looks, and the connections that were made for them.
 */
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';

const answer = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const READY = answer('ok');
const VERSION = answer('{"gitVersion":"v1.36.4"}');

let looks = 0;
let connections = 0;
process.on('disconnect', () => process.exit());
process.on('message', (message: 'count' | { cert: string; key: string }) => {
  if (message === 'count') process.send?.({ looks, connections });
  else open(message);
});

function open(pair: { cert: string; key: string }): void {
  const server = createServer({ ...pair, ALPNProtocols: ['http/1.1'] }, (socket) => {
    connections++;
    socket.setNoDelay(true);
    socket.on('error', () => {});
    // A question is one small write, so it arrives in one piece.
    socket.on('data', (question: Buffer) => {
      const isVersion = question.toString('latin1', 0, 12) === 'GET /version';
      if (!isVersion) looks++;
      socket.write(isVersion ? VERSION : READY);
    });
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  );
}
