/**
 * The API servers of a whole fleet in one process, as cheap as TLS allows: not an HTTP server, but a response to each
 * of the two requests of a probe. Counts the probes and their connections.
 */
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';

export interface ProbeCounts {
  readonly probes: number;
  readonly connections: number;
}

const respond = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const READY = respond('ok');
const VERSION = respond('{"gitVersion":"v1.36.4"}');

let probes = 0;
let connections = 0;
process.on('disconnect', () => process.exit());
process.on('message', (message: 'count' | { cert: string; key: string }) => {
  if (message === 'count') process.send?.({ probes, connections } satisfies ProbeCounts);
  else listen(message);
});

function listen(pair: { cert: string; key: string }): void {
  const server = createServer({ ...pair, ALPNProtocols: ['http/1.1'] }, (socket) => {
    connections++;
    socket.setNoDelay(true);
    socket.on('error', () => {});
    // The prober sends each request in one small write, so it arrives in one piece.
    socket.on('data', (request: Buffer) => {
      const isVersion = request.toString('latin1', 0, 12) === 'GET /version';
      if (!isVersion) probes++;
      socket.write(isVersion ? VERSION : READY);
    });
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  );
}
