/**
 * The client side of a benchmark, in a separate process. It sends requests whose bytes are ready, and reads of a
 * response only the status and the length. The parent process sends it commands.
 */
import { readFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';

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
  readonly total: number;
  /**
   * Requests a second of all connections together; 0, the default: each sends the next request after the response.
   * Times count from when a request was due, so that a slow server does not hide its delay by getting fewer requests.
   */
  readonly rate?: number;
}

export interface Done {
  readonly seconds: number;
  /** Of each response, from the write of its request. */
  readonly milliseconds: readonly number[];
}

export interface Watch {
  readonly port: number;
  /** How many are open afterwards. */
  readonly connections: number;
  readonly request: string;
  /** An address of this machine that they connect from: one address has ports for 28,000 connections to one server. */
  readonly localAddress?: string;
}

export type Command =
  | { readonly do: 'connect'; readonly port: number; readonly connections: number }
  | ({ readonly do: 'work' } & Work)
  | ({ readonly do: 'watch' } & Watch)
  | { readonly do: 'frames'; readonly total: number }
  | { readonly do: 'trickle'; readonly request: string; readonly bytes: number; readonly everyMs: number }
  | { readonly do: 'close' };

/** Handshakes at once. With thousands at once, the server's time limit for a handshake would end some of them. */
const HANDSHAKES = 32;

let sockets: TLSSocket[] = [];
let frames = 0;
let cutOff = 0;
let onFrames: (() => void) | undefined;

/** The newest TLS session of the server at each port. */
const sessions = new Map<number, Buffer>();

function open(port: number, localAddress = '127.0.0.1'): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    // Handshakes are not measured. Resumed sessions make them cheap: hundreds of full handshakes can take longer than
    // the server waits for the first request. The server's work does not depend on whether its certificate is checked.
    const session = sessions.get(port);
    const resumed = session === undefined ? {} : { session };
    const to = { host: '127.0.0.1', port, localAddress, rejectUnauthorized: false };
    const socket = connect({ ...to, ...resumed }, () => {
      socket.setNoDelay(true);
      resolve(socket);
    });
    socket.once('session', (ticket: Buffer) => sessions.set(port, ticket));
    socket.once('error', reject);
  });
}

async function connectAll(port: number, count: number, localAddress?: string): Promise<void> {
  while (sockets.length < count) {
    const group = Math.min(HANDSHAKES, count - sockets.length);
    sockets.push(...(await Promise.all(Array.from({ length: group }, () => open(port, localAddress)))));
  }
}

/** Calls `onResponse` at the end of each response, and `onFailure` for one that is not a success. */
function readResponses(socket: TLSSocket, onResponse: () => void, onFailure: (why: Error) => void): void {
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
          onFailure(new Error(`the response was ${head.slice(0, 800)}`));
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
        onResponse();
      }
    }
  });
  socket.once('error', onFailure);
  socket.once('close', () => onFailure(new Error('the server closed a connection')));
}

const files = new Map<string, RequestFile>();
/** By file and server: the number of texts sent so far. */
const positions = new Map<string, number>();

function textsOf(file: string): RequestFile {
  const texts = files.get(file) ?? (JSON.parse(readFileSync(file, 'utf8')) as RequestFile);
  files.set(file, texts);
  return texts;
}

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
  const texts = textsOf(requests.file);
  const key = `${requests.file} ${sockets[0]?.remotePort}`;
  return () => {
    const position = positions.get(key) ?? 0;
    positions.set(key, position + 1);
    return texts[position % texts.length] ?? '';
  };
}

function work({ requests, total, rate = 0 }: Work): Promise<Done> {
  const milliseconds: number[] = [];
  const next = sourceOf(requests);
  let sent = 0;
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    for (const [index, socket] of sockets.entries()) {
      // The listeners of earlier work on the same connections.
      for (const event of ['data', 'error', 'close']) socket.removeAllListeners(event);
      let sentAt = 0;
      let pending = false;
      let due = rate === 0 ? 0 : begun + (index * 1000) / rate;
      const send = (): void => {
        pending = sent < total;
        if (!pending) return;
        sent++;
        const data = next();
        sentAt = rate === 0 ? performance.now() : due;
        socket.write(data);
      };
      const sendWhenDue = (): void => {
        if (rate === 0) send();
        else setTimeout(send, Math.max(0, due - performance.now()));
      };
      readResponses(
        socket,
        () => {
          milliseconds.push(performance.now() - sentAt);
          if (milliseconds.length === total) resolve({ seconds: (performance.now() - begun) / 1000, milliseconds });
          else {
            due += (sockets.length * 1000) / rate;
            sendWhenDue();
          }
        },
        // A server may close a connection that has no request pending.
        (error) => pending && reject(error),
      );
      sendWhenDue();
    }
  });
}

/** Starts one watch and counts its frames. Resolves with the first bytes of the response. */
function watchOn(socket: TLSSocket, request: string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
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
  });
}

/** Each connection starts its watch at once: the server soon closes a connection that sends nothing. */
async function watch({ port, connections: count, request, localAddress }: Watch): Promise<void> {
  frames = 0;
  cutOff = 0;
  while (sockets.length < count) {
    const from = sockets.length;
    await connectAll(port, Math.min(count, from + HANDSHAKES), localAddress);
    await Promise.all(sockets.slice(from).map((socket) => watchOn(socket, request)));
  }
}

/** Resolves when so many frames have arrived since the watches were started, or when a watch was cut off. */
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

/** A slow reader: sends a request on each connection, and then reads some bytes of the response at an interval. */
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

async function run(command: Command): Promise<unknown> {
  switch (command.do) {
    case 'connect':
      return connectAll(command.port, command.connections);
    case 'work':
      return work(command);
    case 'watch':
      return watch(command);
    case 'frames':
      return waitForFrames(command.total);
    case 'trickle':
      return trickle(command.request, command.bytes, command.everyMs);
    case 'close':
      return closeAll();
  }
}

process.on('message', ({ id, command }: { id: number; command: Command }) => {
  run(command).then(
    (value) => process.send?.({ id, value }),
    (error: unknown) => process.send?.({ id, error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit());
