import { once } from 'node:events';
import { createServer, get, type IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { endWith, type ReadyBytes, writeReady } from './body-writer.ts';
import { CHUNK_BYTES, ResponseBuffers } from './chunk-pool.ts';

/** The bytes that a client receives, and whether the socket waited for `drain` when the response ended. */
async function send(write: (res: ServerResponse) => void): Promise<[received: number, waits: (boolean | undefined)[]]> {
  const waits: (boolean | undefined)[] = [];
  class Recorded extends ServerResponse<IncomingMessage> {
    override end(...args: unknown[]): this {
      super.end(...(args as []));
      waits.push(this.socket?.writableNeedDrain);
      return this;
    }
  }
  const server = createServer({ ServerResponse: Recorded }, (_, res) => write(res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [response] = (await once(get({ port, host: '127.0.0.1' }), 'response')) as [IncomingMessage];
  let received = 0;
  for await (const chunk of response) received += (chunk as Buffer).length;
  server.close();
  server.closeAllConnections();
  return [received, waits];
}

it.each([100, 30_000, 60_000, 300_000])(
  'a socket does not wait for drain when a body of %i bytes ends',
  async (length) => {
    const write = (res: ServerResponse): void => {
      res.writeHead(200, { 'Content-Length': length });
      endWith(res, Buffer.alloc(length, 'x'));
    };
    expect(await send(write)).toEqual([length, [false]]);
  },
);

/** So many bytes. */
class Ready implements ReadyBytes {
  readonly length: number;
  #left: number;

  constructor(length: number) {
    this.length = length;
    this.#left = length;
  }

  fill(into: Uint8Array, from: number): number {
    const end = Math.min(into.length, from + this.#left);
    into.fill(0x78, from, end);
    this.#left -= end - from;
    return end;
  }
}

it.each([1_000, 100_000, CHUNK_BYTES, CHUNK_BYTES + 1, CHUNK_BYTES + 33_000, 2 * CHUNK_BYTES + 60_000])(
  'a socket does not wait for drain when a list of %i bytes ends',
  async (length) => {
    const write = (res: ServerResponse): void => {
      res.writeHead(200, { 'Content-Length': length });
      void writeReady(res, new Ready(length), new ResponseBuffers().lists);
    };
    expect(await send(write)).toEqual([length, [false]]);
  },
);
