import { once } from 'node:events';
import { createServer, get, type IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { lonelyWork } from '../../lib/work-queue.fixture.ts';
import {
  CHUNK_BYTES,
  ChunkPool,
  createResponseBuffers,
  endWith,
  type ReadyBytes,
  writeChunks,
  writeGzipped,
  writeReady,
} from './body-writer.ts';

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
  /** The memory that it was copied to, one entry for each chunk. */
  readonly filled: ArrayBufferLike[] = [];
  #left: number;

  constructor(length: number) {
    this.length = length;
    this.#left = length;
  }

  fill(into: Uint8Array, from: number): number {
    this.filled.push(into.buffer);
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
      void writeReady(res, new Ready(length), createResponseBuffers());
    };
    expect(await send(write)).toEqual([length, [false]]);
  },
);

afterEach(() => vi.useRealTimers());

/** A client that reads only when the test says so, and the answer of the server to it. */
async function openSlow(): Promise<{ client: Socket; res: ServerResponse }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  client.on('error', () => {}).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [, res] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  onTestFinished(() => {
    client.destroy();
    server.close();
    server.closeAllConnections();
  });
  res.writeHead(200);
  return { client, res };
}

const fakeTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

/** More than the buffers of two sockets hold. */
const HUGE = 64 * 1024 * 1024;
const pool = (): ChunkPool => new ChunkPool({ size: CHUNK_BYTES, maxFree: 40 });
/** To be polled: on a busy machine the sockets may take a little more meanwhile. */
function isCutWithin(res: ServerResponse, ms: number): boolean {
  vi.advanceTimersByTime(ms);
  return res.destroyed;
}
/** Whether a timer is left that would close the connection. */
function isCutLater(res: ServerResponse): boolean {
  const destroy = vi.spyOn(res, 'destroy');
  vi.advanceTimersByTime(60_000);
  return destroy.mock.calls.length > 0;
}
/** Until the sockets take nothing more. */
async function full(taken: () => number): Promise<void> {
  for (let before = -1; before !== taken(); ) {
    before = taken();
    for (let i = 0; i < 50; i += 1) await nextTick();
  }
}

describe('A21: a long list', () => {
  it('is cut after half a minute in which the client takes nothing, and not before', async () => {
    fakeTimers();
    const { client, res } = await openSlow();
    const bytes = new Ready(HUGE);
    const written = writeReady(res, bytes, pool());
    await full(() => bytes.filled.length);
    vi.advanceTimersByTime(29_000);
    const before = bytes.filled.length;
    client.resume();
    await expect.poll(() => bytes.filled.length).toBeGreaterThan(before);
    client.pause();
    await full(() => bytes.filled.length);
    vi.advanceTimersByTime(29_000);
    expect(res.destroyed).toBe(false);
    await expect.poll(() => isCutWithin(res, 30_000)).toBe(true);
    await written;
    expect(isCutLater(res)).toBe(false);
  });

  it('that fails in the middle is an error of its writer', async () => {
    const { client, res } = await openSlow();
    client.resume();
    let calls = 0;
    const failing: ReadyBytes = {
      length: HUGE,
      fill: (into) => {
        calls += 1;
        if (calls === 3) throw new Error('cannot be encoded');
        return into.length;
      },
    };
    await expect(writeReady(res, failing, pool())).rejects.toThrow('cannot be encoded');
  });
});

describe.each([
  ['plain', writeChunks],
  ['compressed', writeGzipped],
] as const)('A21: chunks, %s,', (_name, write) => {
  /** Random, so that compression does not make them small. */
  const piece = Buffer.from(Array.from({ length: 65_536 }, () => Math.floor(Math.random() * 256)));
  function* pieces(note: () => void): Generator<Uint8Array> {
    for (let sent = 0; sent < HUGE; sent += piece.length) {
      note();
      yield piece;
    }
  }

  it('wait for a client that does not read, for half a minute', async () => {
    fakeTimers();
    const { res } = await openSlow();
    let taken = 0;
    let made = 0;
    const written = write(
      res,
      pieces(() => (taken += 1)),
      { work: lonelyWork(), onMade: () => (made += 1) },
    );
    await full(() => taken);
    expect(taken).toBeLessThan((HUGE / piece.length) * 0.75);
    vi.advanceTimersByTime(999);
    expect(made).toBe(0);
    // From now on it is the client that the answer waits for.
    vi.advanceTimersByTime(1);
    expect(made).toBe(1);
    vi.advanceTimersByTime(28_999);
    expect(res.destroyed).toBe(false);
    await expect.poll(() => isCutWithin(res, 30_000)).toBe(true);
    await written;
    expect(isCutLater(res)).toBe(false);
  });

  it('end with their client', async () => {
    fakeTimers();
    const { client, res } = await openSlow();
    let taken = 0;
    const written = write(
      res,
      pieces(() => (taken += 1)),
      { work: lonelyWork(), onMade: () => {} },
    );
    await full(() => taken);
    client.destroy();
    await written;
    expect(taken).toBeLessThan((HUGE / piece.length) * 0.75);
    expect(isCutLater(res)).toBe(false);
  });

  it('are made in as many ticks as they take time', async () => {
    const { client, res } = await openSlow();
    client.resume();
    let tick = 0;
    let isRunning = true;
    const count = (): void => {
      tick += 1;
      if (isRunning) setImmediate(count);
    };
    setImmediate(count);
    const ticks: number[] = [];
    const written: string[] = [];
    await write(
      res,
      (function* () {
        for (let made = 0; made < 20; made++) {
          ticks.push(tick);
          const end = performance.now() + 3;
          while (performance.now() < end);
          yield made % 2 === 0 ? undefined : Buffer.from('x');
        }
      })(),
      { work: lonelyWork(), onMade: () => written.push('made') },
    );
    isRunning = false;
    // Two pieces of three milliseconds pass the five of a tick.
    expect(new Set(ticks).size).toBeGreaterThanOrEqual(9);
    expect(written).toEqual(['made']);
  });
});
