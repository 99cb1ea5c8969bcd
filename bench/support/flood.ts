import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { createFloods } from '../../test/e2e/support/hostile-floods.ts';

export interface Flooding {
  readonly port: number;
  readonly token: string;
  /** Index in the list of `createFloods`. */
  readonly flood: number;
  readonly seconds: number;
  /** Attempts a second. */
  readonly rate: number;
}

const AT_ONCE = 32;
/** Another address than that of the other clients, because some limits are by address. */
const FROM = '127.0.0.2';
/** An attempt without a response ends after this. */
const PATIENCE_MS = 8_000;

/** Floods a server from 32 connections until the time is over. Returns the number of attempts. */
export async function flood({ port, token, flood: index, seconds, rate }: Flooding): Promise<number> {
  const { sent, over, leaves } = createFloods(token)[index] ?? { sent: [], over: 'raw' };
  const to = { port, host: '127.0.0.1', localAddress: FROM };
  const open = (): Socket =>
    over === 'raw' ? connect(to) : connectTls({ ...to, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  const start = performance.now();
  const endAt = start + seconds * 1000;
  let attempts = 0;
  const runConnection = async (): Promise<void> => {
    let socket: Socket | undefined;
    while (performance.now() < endAt) {
      const number = attempts++;
      await sleep(Math.max(0, start + (number * 1000) / rate - performance.now()));
      if (socket?.writable !== true) socket = open().on('error', () => {});
      await attempt(socket, sent[number % sent.length] ?? '', leaves === true);
      if (over !== 'kept') socket.destroy();
    }
    socket?.destroy();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runConnection));
  return attempts;
}

/** Ends with the first bytes of the response, or when the connection is closed. */
async function attempt(socket: Socket, bytes: string | Uint8Array, leaves: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  const timer = setTimeout(end, PATIENCE_MS);
  socket.once('data', end).once('close', end);
  socket.write(bytes, leaves ? end : undefined);
  await promise;
  clearTimeout(timer);
  socket.off('data', end).off('close', end);
}
