/**
 * Who floods, in a process of its own: says that it is there, is told a `FloodJob`, works until the time is over, tells what
 * came of it, and waits for the next. Ends when nobody is there any more who could tell it another.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectSecurely } from 'node:tls';
import { createFloods, type Flood } from '../test/e2e/support/hostile-floods.ts';

export interface FloodJob {
  readonly port: number;
  readonly token: string;
  /** By its place in the list. */
  readonly flood: number;
  readonly seconds: number;
  /** Attempts a second; 0 for as many as there can be. */
  readonly rate: number;
}

export interface FloodOutcome {
  readonly attempts: number;
  /** How many ended in which way: a code, a handshake that went on, an alert, a closed connection. */
  readonly ends: Readonly<Record<string, number>>;
}

const AT_ONCE = 32;
/** Not that of the others: what is bounded by address is not theirs to wait for. */
const FROM = '127.0.0.2';
/** Whoever has had no answer by then leaves. */
const PATIENCE_MS = 5_000;

async function work({ port, token, flood: place, seconds, rate }: FloodJob): Promise<FloodOutcome> {
  const flood = createFloods(token)[place];
  if (flood === undefined) throw new Error('there is no such flood');
  const start = performance.now();
  const end = start + seconds * 1000;
  const ends: Record<string, number> = {};
  let attempts = 0;
  const one = async (): Promise<void> => {
    let kept: Socket | undefined;
    while (performance.now() < end) {
      const number = attempts;
      attempts += 1;
      const wait = rate === 0 ? 0 : start + (number * 1000) / rate - performance.now();
      if (wait > 0) await delay(wait);
      if (performance.now() >= end) break;
      const socket = kept?.writable === true ? kept : open(flood, port);
      const how = await attempt(flood, socket, flood.sent[number % flood.sent.length] ?? '');
      ends[how] = (ends[how] ?? 0) + 1;
      if (flood.over === 'kept') kept = socket;
      else socket.destroy();
    }
    kept?.destroy();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return { attempts, ends };
}

function open({ over }: Flood, port: number): Socket {
  const socket =
    over === 'raw'
      ? connect({ port, host: '127.0.0.1', localAddress: FROM })
      : connectSecurely({
          ...{ port, host: '127.0.0.1', localAddress: FROM },
          rejectUnauthorized: false,
          ALPNProtocols: ['http/1.1'],
        });
  socket.on('error', () => {});
  return socket;
}

function attempt({ leaves, over }: Flood, socket: Socket, sent: string | Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const done = (how: string): void => {
      clearTimeout(timer);
      socket.off('data', hear).off('close', closed);
      resolve(how);
    };
    const hear = (bytes: Buffer): void => {
      received += bytes.toString('latin1');
      if (over === 'raw') {
        done(received.startsWith('\x15') ? 'alert' : 'handshake');
        return;
      }
      const head = received.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(received.slice(0, head))?.[1] ?? 0);
      if (received.length >= head + 4 + length) done(received.slice(9, 12));
    };
    const closed = (): void => done('closed');
    const timer = setTimeout(() => {
      socket.destroy();
      done('no answer');
    }, PATIENCE_MS);
    socket.on('data', hear).once('close', closed);
    if (leaves === true) socket.write(sent, () => done('left'));
    else socket.write(sent);
  });
}

process.on('message', (job: FloodJob) => {
  void work(job).then((outcome) => process.send?.(outcome));
});
process.send?.('ready');
