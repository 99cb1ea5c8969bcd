/**
 * The other side of the socket, in a process of its own: sends requests whose bytes are ready, and looks at no more of
 * the answers than it must to know where one ends. Told what to do by messages from its parent.
 */
import { connect, type TLSSocket } from 'node:tls';

export interface Work {
  /** Around a number that is another each time; the second is missing when all requests are the same. */
  readonly request: readonly [string, string?];
  readonly connections: number;
  /** How many answers make the work done. */
  readonly total: number;
  readonly firstNumber?: number;
}

export interface Done {
  readonly seconds: number;
  readonly milliseconds: readonly number[];
}

export type Order =
  | { readonly do: 'connect'; readonly port: number; readonly connections: number }
  | ({ readonly do: 'work' } & Work)
  | { readonly do: 'watch'; readonly port: number; readonly connections: number; readonly request: string }
  | { readonly do: 'frames'; readonly total: number }
  | { readonly do: 'trickle'; readonly request: string; readonly bytes: number; readonly everyMs: number }
  | { readonly do: 'close' };

/** Handshakes under way at once: a server that is greeted by thousands would let some of them wait too long. */
const GROUP = 32;

let sockets: TLSSocket[] = [];
let frames = 0;
let cutOff = 0;
let onFrames: (() => void) | undefined;

/** What the server at a port gave the last connection to come back with. */
const sessions = new Map<number, Buffer>();

function open(port: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    // The certificate is not what is measured, and the server's work is the same whether it is looked at or not. Nor are
    // handshakes: resumed ones are cheap, and on a slow machine hundreds of others would take longer than the server
    // waits for the first request.
    const session = sessions.get(port);
    const resumed = session === undefined ? {} : { session };
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...resumed }, () => {
      socket.setNoDelay(true);
      resolve(socket);
    });
    socket.once('session', (given: Buffer) => sessions.set(port, given));
    socket.once('error', reject);
  });
}

async function connectAll(port: number, count: number): Promise<void> {
  while (sockets.length < count) {
    const group = Math.min(GROUP, count - sockets.length);
    sockets.push(...(await Promise.all(Array.from({ length: group }, () => open(port)))));
  }
}

/** Calls back at the end of each answer; refuses those that are no success. */
function onAnswers(socket: TLSSocket, answered: () => void, failed: (why: Error) => void): void {
  let head = '';
  let left = -1;
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (left < 0) {
        head += rest.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = /\r\ncontent-length: (\d+)/i.exec(head.slice(0, end))?.[1];
        if (!head.startsWith('HTTP/1.1 2') || length === undefined) {
          failed(new Error(`answered with ${head.slice(0, 400)}`));
          return;
        }
        rest = rest.subarray(rest.length - (head.length - end - 4));
        head = '';
        left = Number(length);
      }
      const taken = Math.min(left, rest.length);
      left -= taken;
      rest = rest.subarray(taken);
      if (left === 0) {
        left = -1;
        answered();
      }
    }
  });
  socket.once('error', failed);
  socket.once('close', () => failed(new Error('the server closed a connection')));
}

function work({ request: [before, after], total, firstNumber = 0 }: Work): Promise<Done> {
  const milliseconds: number[] = [];
  let sent = 0;
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const bytes = Buffer.from(before);
    const next = (): Buffer | string =>
      after === undefined ? bytes : `${before}${String(firstNumber + sent).padStart(8, '0')}${after}`;
    for (const socket of sockets) {
      // Those of the work before, if it was done on the same connections.
      for (const event of ['data', 'error', 'close']) socket.removeAllListeners(event);
      let sentAt = 0;
      let waits = false;
      const send = (): void => {
        waits = sent < total;
        if (!waits) return;
        sentAt = performance.now();
        const data = next();
        sent++;
        socket.write(data);
      };
      onAnswers(
        socket,
        () => {
          milliseconds.push(performance.now() - sentAt);
          if (milliseconds.length === total) resolve({ seconds: (performance.now() - begun) / 1000, milliseconds });
          else send();
        },
        // A server may close a connection that has nothing more to ask.
        (error) => waits && reject(error),
      );
      send();
    }
  });
}

/** Counts the frames of one watch. Resolves when it stands. */
function watchOn(socket: TLSSocket, request: string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    let head = '';
    let standing = false;
    let last = 0;
    socket.on('data', (chunk: Buffer) => {
      if (!standing) {
        head += chunk.toString('latin1');
        if (!head.includes('\r\n\r\n')) return;
        if (!head.startsWith('HTTP/1.1 200')) reject(new Error(head));
        standing = true;
        resolve();
        return;
      }
      // A frame ends with a newline; those of the chunked encoding come after a carriage return.
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, end + 1)) {
        if ((end === 0 ? last : chunk[end - 1]) !== 13) frames++;
      }
      last = chunk.at(-1) ?? last;
      onFrames?.();
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      cutOff++;
      onFrames?.();
    });
    socket.write(request);
  });
}

/** Each asks as soon as it is connected: a server does not wait long for a connection that says nothing. */
async function watch(port: number, count: number, request: string): Promise<void> {
  frames = 0;
  cutOff = 0;
  while (sockets.length < count) {
    const from = sockets.length;
    await connectAll(port, Math.min(count, from + GROUP));
    await Promise.all(sockets.slice(from).map((socket) => watchOn(socket, request)));
  }
}

/** Resolves when so many frames have come since the watches were started, or somebody was cut off. */
function waitForFrames(total: number): Promise<{ frames: number; cutOff: number }> {
  return new Promise((resolve) => {
    onFrames = () => {
      if (frames < total && cutOff === 0) return;
      onFrames = undefined;
      resolve({ frames, cutOff });
    };
    onFrames();
  });
}

/** Asks, and then reads a little now and then: the slow reader. */
async function trickle(request: string, bytes: number, everyMs: number): Promise<void> {
  for (const socket of sockets) {
    socket.on('error', () => {});
    socket.pause();
    socket.write(request);
    const timer = setInterval(() => void socket.read(Math.min(bytes, socket.readableLength || bytes)), everyMs);
    socket.once('close', () => clearInterval(timer));
  }
}

function closeAll(): void {
  for (const socket of sockets) {
    socket.removeAllListeners('close');
    socket.destroy();
  }
  sockets = [];
}

async function obey(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'connect':
      return connectAll(order.port, order.connections);
    case 'work':
      return work(order);
    case 'watch':
      return watch(order.port, order.connections, order.request);
    case 'frames':
      return waitForFrames(order.total);
    case 'trickle':
      return trickle(order.request, order.bytes, order.everyMs);
    case 'close':
      return closeAll();
  }
}

process.on('message', ({ id, order }: { id: number; order: Order }) => {
  obey(order).then(
    (value) => process.send?.({ id, value }),
    (error: unknown) => process.send?.({ id, error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit());
