/**
 * The client side of a benchmark, in a separate process. It sends requests whose bytes are ready, and reads of a
 * response only the status and the length. The parent process sends it commands.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { type Flooding, flood } from './flood.ts';

/** `same`: one text each time. `numbered`: two parts around a number that counts up. `file`: see `RequestFile`. */
export type Requests =
  | { readonly same: string }
  | { readonly numbered: readonly [before: string, after: string]; readonly from?: number }
  | { readonly file: string };

/**
 * A JSON array of request texts. They are sent in this order, and from the start again after the last. The next work
 * with the same file and server continues where the one before ended.
 */
type RequestFile = readonly string[];

export interface Work {
  readonly requests: Requests;
  readonly connections: number;
  /** How many responses complete the work. */
  readonly total?: number;
  /** In place of `total`: how long requests are sent. Any status is then counted, and so is a closed connection. */
  readonly seconds?: number;
  /**
   * Requests a second of all connections together; 0, the default: each sends the next request after the response.
   * Times count from when a request was due, so that a slow server does not hide its delay by getting fewer requests.
   */
  readonly rate?: number;
}

export interface Done {
  readonly seconds: number;
  /** The time of each success, from when its request was due. */
  readonly milliseconds: readonly number[];
  /** Responses by status code; `closed` for connections that the server closed. */
  readonly codes: Readonly<Record<string, number>>;
}

interface Connections {
  readonly port: number;
  /** How many are open afterwards. */
  readonly connections: number;
}

export type Command =
  | ({ readonly do: 'connect' } & Connections)
  | ({ readonly do: 'work' } & Work)
  | ({ readonly do: 'watch'; readonly request: string } & Connections)
  | { readonly do: 'frames'; readonly total: number }
  | ({ readonly do: 'flood' } & Flooding)
  | { readonly do: 'close' };

/** Handshakes at once. With thousands at once, the server's time limit for a handshake would end some of them. */
const HANDSHAKES = 32;
/** How long a request may be pending after the seconds of its work are over. It then does not count. */
const GRACE_MS = 2_000;

let sockets: Socket[] = [];
let frames = 0;
let cutOff = 0;
let onFrames: (() => void) | undefined;

/** The newest TLS session of the server at each port. */
const sessions = new Map<number, Buffer>();

function open({ port }: Connections): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const to = { host: '127.0.0.1', port };
  const opened = (): void => resolve(socket.setNoDelay(true));
  // Handshakes are not measured. Resumed sessions make them cheap: hundreds of full handshakes can take longer than
  // the server waits for the first request. The server's work does not depend on whether its certificate is checked.
  const session = sessions.get(port);
  const resumed = session === undefined ? {} : { session };
  const socket = connect({ ...to, rejectUnauthorized: false, ...resumed }, opened);
  socket.once('session', (ticket: Buffer) => sessions.set(port, ticket));
  socket.once('error', reject);
  return promise;
}

/** The next connections, at most as many as may be opened at once. */
async function connectSome(to: Connections): Promise<Socket[]> {
  const count = Math.min(HANDSHAKES, to.connections - sockets.length);
  const opened = await Promise.all(Array.from({ length: count }, () => open(to)));
  sockets.push(...opened);
  return opened;
}

async function connectAll(to: Connections): Promise<void> {
  while (sockets.length < to.connections) await connectSome(to);
}

/** Calls `onResponse` with the head of each response at its end. */
function readResponses(socket: Socket, onResponse: (head: string) => void): void {
  let head = '';
  /** Bytes of the body that have not arrived; undefined while a head is read. */
  let left: number | undefined;
  /** The last bytes of a chunked body, which no other request follows. */
  let tail = '';
  const end = (): void => {
    const complete = head;
    [head, left, tail] = ['', undefined, ''];
    onResponse(complete);
  };
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (left === undefined) {
        head += rest.toString('latin1');
        const headEnd = head.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        rest = rest.subarray(rest.length - (head.length - headEnd - 4));
        head = head.slice(0, headEnd);
        left = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? Number.POSITIVE_INFINITY);
      }
      const taken = Math.min(left, rest.length);
      left -= taken;
      if (left === Number.POSITIVE_INFINITY)
        tail = (tail + rest.subarray(-LAST_CHUNK.length).toString('latin1')).slice(-LAST_CHUNK.length);
      rest = rest.subarray(taken);
      if (left === 0 || (left === Number.POSITIVE_INFINITY && tail === LAST_CHUNK)) end();
    }
  });
}

const LAST_CHUNK = '\r\n0\r\n\r\n';

const files = new Map<string, RequestFile>();
/** By file and server: the number of texts sent so far. */
const positions = new Map<string, number>();

/** Gives the next request at each call. */
function sourceOf(requests: Requests): () => Buffer | string {
  if ('same' in requests) {
    const bytes = Buffer.from(requests.same);
    return () => bytes;
  }
  if ('numbered' in requests) {
    const [before, after] = requests.numbered;
    let number = requests.from ?? 0;
    return () => `${before}${String(number++).padStart(8, '0')}${after}`;
  }
  const { file } = requests;
  const texts = files.get(file) ?? (JSON.parse(readFileSync(file, 'utf8')) as RequestFile);
  files.set(file, texts);
  const key = `${file} ${sockets[0]?.remotePort}`;
  return () => {
    const position = positions.get(key) ?? 0;
    positions.set(key, position + 1);
    return texts[position % texts.length] ?? '';
  };
}

function work({ requests, total, seconds, rate = 0 }: Work): Promise<Done> {
  const { promise, resolve, reject } = Promise.withResolvers<Done>();
  const done = { milliseconds: [] as number[], codes: {} as Record<string, number> };
  const next = sourceOf(requests);
  const begun = performance.now();
  const endAt = seconds === undefined ? Number.POSITIVE_INFINITY : begun + seconds * 1000;
  let sent = 0;
  let pending = 0;
  const finish = (): void => resolve({ ...done, seconds: (performance.now() - begun) / 1000 });
  if (seconds !== undefined) setTimeout(finish, seconds * 1000 + GRACE_MS);
  for (const [index, socket] of sockets.entries()) {
    // The listeners of earlier work on the same connections.
    for (const event of ['data', 'error', 'close']) socket.removeAllListeners(event);
    let isPending = false;
    let sentAt = 0;
    let due = rate === 0 ? 0 : begun + (index * 1000) / rate;
    const end = (code: string): void => {
      isPending = false;
      pending -= 1;
      done.codes[code] = (done.codes[code] ?? 0) + 1;
    };
    const send = (): void => {
      if (sent === total || performance.now() >= endAt) {
        if (pending === 0) finish();
        return;
      }
      // A server may close a connection that has no request pending.
      if (socket.destroyed) return;
      isPending = true;
      pending += 1;
      sent += 1;
      const data = next();
      sentAt = rate === 0 ? performance.now() : due;
      socket.write(data);
    };
    const sendWhenDue = (): void => {
      // Nothing is left to wait for when all requests were sent.
      if (rate === 0 || sent === total) send();
      else setTimeout(send, Math.max(0, due - performance.now()));
    };
    readResponses(socket, (head) => {
      const code = head.slice(9, 12);
      end(code);
      if (code.startsWith('2')) {
        done.milliseconds.push(performance.now() - sentAt);
      } else if (total !== undefined) {
        reject(new Error(`the response was ${head.slice(0, 800)}`));
        return;
      }
      due += (sockets.length * 1000) / rate;
      sendWhenDue();
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      if (!isPending) return;
      end('closed');
      if (total !== undefined) reject(new Error('the server closed a connection'));
      else if (pending === 0 && performance.now() >= endAt) finish();
    });
    sendWhenDue();
  }
  return promise;
}

/** Starts one watch and counts its frames. Resolves with the first bytes of the response. */
function watchOn(socket: Socket, request: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let head = '';
  let started = false;
  let last = 0;
  socket.on('data', (chunk: Buffer) => {
    if (!started) {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      if (!head.startsWith('HTTP/1.1 200')) reject(new Error(head));
      started = true;
      resolve();
      return;
    }
    // A frame ends with a newline. Newlines of the chunked encoding follow a carriage return.
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
  return promise;
}

/** Each connection starts its watch at once: the server soon closes a connection that sends nothing. */
async function watch({ request, ...to }: Connections & { readonly request: string }): Promise<void> {
  frames = 0;
  cutOff = 0;
  while (sockets.length < to.connections) {
    await Promise.all((await connectSome(to)).map((socket) => watchOn(socket, request)));
  }
}

/** Resolves when so many frames have arrived since the watches were started, or when a watch was cut off. */
function waitForFrames({ total }: { total: number }): Promise<{ frames: number; cutOff: number }> {
  return new Promise((resolve) => {
    onFrames = () => {
      if (frames < total && cutOff === 0) return;
      onFrames = undefined;
      resolve({ frames, cutOff });
    };
    onFrames();
  });
}

function closeAll(): void {
  for (const socket of sockets) {
    socket.removeAllListeners('close');
    socket.destroy();
  }
  sockets = [];
}

const COMMANDS = { connect: connectAll, work, watch, frames: waitForFrames, flood, close: closeAll };

async function run(command: Command): Promise<unknown> {
  return (COMMANDS[command.do] as (command: Command) => unknown)(command);
}

process.on('message', ({ id, command }: { id: number; command: Command }) => {
  run(command).then(
    (value) => process.send?.({ id, value }),
    (error: unknown) => process.send?.({ id, error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit());
