/** An API server that stands for a whole fleet; counts the looks at it. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

let count = 0;
process.on('disconnect', () => process.exit());
process.on('message', (message: 'count' | { cert: string; key: string }) => {
  if (message === 'count') process.send?.({ count });
  else open(message);
});

function open(pair: { cert: string; key: string }): void {
  const server = createServer(pair, (request, response) => {
    if (request.url === '/readyz') count++;
    response.end(request.url === '/version' ? '{"gitVersion":"v1.36.4"}' : 'ok');
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
}
