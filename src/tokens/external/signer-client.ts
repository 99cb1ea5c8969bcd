import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { SignerAddress } from '../../api/signer-address.ts';
import { isJsonObject, type JsonObject, parsedJson } from '../../lib/json.ts';

/** The signer did not respond as it must. The message is for the log, and is not shown to callers. */
export class SignerFailed extends Error {
  override readonly name = 'SignerFailed';
}

/** A connection to a signer, which responds to each line with a line. */
interface SignerConnection {
  readonly input: Writable;
  readonly output: Readable;
  /** Resolves with the reason when the signer sends no more responses. */
  readonly closed: Promise<string>;
  close(): void;
}

/** Requests and responses of one JSON object a line. Responses may arrive in any order; `id` names their request. */
export interface SignerClient {
  /** Rejects with SignerFailed. Reconnects when the connection was lost. */
  call(request: JsonObject): Promise<JsonObject>;
  close(): void;
}

interface PendingCall {
  readonly resolve: (response: JsonObject) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

const TIMEOUT_MS = 5_000;
/** 32 keys of 4,096 bits are some 30,000 characters. */
export const MAX_LINE_BYTES = 256 * 1024;
const MAX_PENDING = 1_000;
/** After a failure, the signer is not connected to again sooner. */
const RECONNECT_MS = 1_000;

/** `connect` rejects when the signer cannot be reached. */
export function createSignerClient(
  connect: () => Promise<SignerConnection>,
  now: () => number,
  timeoutMs = TIMEOUT_MS,
): SignerClient {
  const pending = new Map<number, PendingCall>();
  let connecting: Promise<SignerConnection> | undefined;
  /** Lines of earlier connections are ignored. */
  let current: SignerConnection | undefined;
  let failure: { readonly error: SignerFailed; readonly at: number } | undefined;
  let lastId = 0;
  let isClosed = false;

  function settle(id: number): PendingCall | undefined {
    const call = pending.get(id);
    if (call !== undefined) clearTimeout(call.timer);
    pending.delete(id);
    return call;
  }

  function fail(reason: string): SignerFailed {
    connecting = undefined;
    current = undefined;
    failure = { error: new SignerFailed(reason), at: now() };
    for (const id of [...pending.keys()]) settle(id)?.reject(failure.error);
    return failure.error;
  }

  function receive(line: string): boolean {
    const response = parsedJson(line);
    if (!isJsonObject(response) || typeof response.id !== 'number') return false;
    // After the timeout of a call, there is no call to settle.
    settle(response.id)?.resolve(response);
    return true;
  }

  async function openConnection(): Promise<SignerConnection> {
    const connection = await connect();
    current = connection;
    let received = Buffer.alloc(0);
    const drop = (reason: string): void => {
      connection.close();
      if (current === connection) fail(reason);
    };
    connection.output.on('data', (chunk: Buffer) => {
      if (current !== connection) return undefined;
      received = Buffer.concat([received, chunk]);
      for (let end = received.indexOf(0x0a); end >= 0; end = received.indexOf(0x0a)) {
        const line = received.subarray(0, end).toString('utf8');
        received = received.subarray(end + 1);
        if (!receive(line)) return drop('the signer sent a line that is not a response');
        if (current !== connection) return undefined;
      }
      if (received.length > MAX_LINE_BYTES) drop(`the signer sent a line of more than ${MAX_LINE_BYTES} bytes`);
    });
    // `closed` reports the reason.
    connection.input.on('error', () => {});
    connection.output.on('error', () => {});
    void connection.closed.then(drop);
    return connection;
  }

  function connected(): Promise<SignerConnection> {
    if (connecting !== undefined) return connecting;
    if (failure !== undefined && now() - failure.at < RECONNECT_MS && now() >= failure.at) {
      return Promise.reject(failure.error);
    }
    connecting = openConnection().catch((error: unknown) => {
      throw fail(`the signer cannot be reached: ${(error as Error).message}`);
    });
    return connecting;
  }

  return {
    async call(request) {
      if (isClosed) throw new SignerFailed('the server is stopping');
      if (pending.size >= MAX_PENDING)
        throw new SignerFailed(`more than ${MAX_PENDING} requests to the signer are pending`);
      const connection = await connected();
      if (current !== connection) throw failure?.error ?? new SignerFailed('the signer closed the connection');
      lastId += 1;
      const id = lastId;
      return new Promise((resolve, reject) => {
        const timeOut = (): void =>
          settle(id)?.reject(new SignerFailed(`the signer did not respond in ${timeoutMs} ms`));
        pending.set(id, { resolve, reject, timer: setTimeout(timeOut, timeoutMs) });
        connection.input.write(`${JSON.stringify({ id, ...request })}\n`);
      });
    },
    close() {
      isClosed = true;
      void connecting?.then((connection) => connection.close()).catch(() => {});
      fail('the server is stopping');
    },
  };
}

/** `onMessage` gets the lines that a program writes to its standard error. */
export const connectSigner = (
  address: SignerAddress,
  onMessage: (line: string) => void = () => {},
): Promise<SignerConnection> =>
  address.type === 'unix' ? connectSocket(address.path) : startProgram(address, onMessage);

async function connectSocket(path: string): Promise<SignerConnection> {
  const socket = connect({ path });
  await once(socket, 'connect');
  return {
    input: socket,
    output: socket,
    closed: once(socket, 'close').then(() => 'the signer closed the connection'),
    close: () => socket.destroy(),
  };
}

/**
 * Without a shell, so no character of the command has a special meaning. Its standard error is a separate pipe: if it
 * inherited the server's, an unread log would stop the program, and with it every signature.
 */
async function startProgram(
  { command, args }: Extract<SignerAddress, { type: 'exec' }>,
  onMessage: (line: string) => void,
): Promise<SignerConnection> {
  const child = spawn(command, args, { stdio: 'pipe' });
  createInterface({ input: child.stderr }).on('line', onMessage);
  const closed = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(`the signer exited with ${signal ?? code}`));
    child.once('error', (error) => resolve(`the signer cannot be started: ${error.message}`));
  });
  await once(child, 'spawn');
  return {
    input: child.stdin,
    output: child.stdout,
    closed,
    close: () => {
      child.stdin.end();
      child.kill('SIGTERM');
    },
  };
}
