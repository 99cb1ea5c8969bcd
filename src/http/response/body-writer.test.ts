import { once } from 'node:events';
import { createServer, get, type IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { endWith } from './body-writer.ts';

it.each([100, 30_000, 60_000, 300_000])(
  'a socket does not wait for drain when a body of %i bytes ends',
  async (length) => {
    const waits: (boolean | undefined)[] = [];
    class Recorded extends ServerResponse<IncomingMessage> {
      override end(...args: unknown[]): this {
        super.end(...(args as []));
        waits.push(this.socket?.writableNeedDrain);
        return this;
      }
    }
    const server = createServer({ ServerResponse: Recorded }, (_, res) => {
      res.writeHead(200, { 'Content-Length': length });
      endWith(res, Buffer.alloc(length, 'x'));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const [response] = (await once(get({ port, host: '127.0.0.1' }), 'response')) as [IncomingMessage];
    let received = 0;
    for await (const chunk of response) received += (chunk as Buffer).length;
    expect([received, waits]).toEqual([length, [false]]);
    server.close();
    server.closeAllConnections();
  },
);
