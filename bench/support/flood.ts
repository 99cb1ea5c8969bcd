import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { createFloods, type Flood } from '../../test/e2e/support/hostile-floods.ts';

export interface Flooding {
  readonly port: number;
  readonly token: string;
  /** Index in the list of `createFloods`. */
  readonly flood: number;
  readonly seconds: number;
  /** Attempts a second. */
  readonly rate: number;
}

/** Attempts by how they ended: a status code, a handshake that continued, a TLS alert, a closed connection. */
export type FloodEnds = Readonly<Record<string, number>>;

const AT_ONCE = 32;
/** Another address than that of the other clients, because some limits are by address. */
const FROM = '127.0.0.2';
/** An attempt without a response ends after this. */
const PATIENCE_MS = 8_000;

/** Floods a server from 32 connections until the time is over. */
export async function flood({ port, token, flood: index, seconds, rate }: Flooding): Promise<FloodEnds> {
  const kind = createFloods(token)[index];
  if (kind === undefined) throw new Error(`there is no flood ${index}`);
  const start = performance.now();
  const endAt = start + seconds * 1000;
  const ends: Record<string, number> = {};
  let attempts = 0;
  const runConnection = async (): Promise<void> => {
    let kept: Socket | undefined;
    while (performance.now() < endAt) {
      const number = attempts;
      attempts += 1;
      const wait = start + (number * 1000) / rate - performance.now();
      if (wait > 0) await sleep(wait);
      if (performance.now() >= endAt) break;
      const socket = kept?.writable === true ? kept : open(kind, port);
      const end = await attempt(kind, socket, kind.sent[number % kind.sent.length] ?? '');
      ends[end] = (ends[end] ?? 0) + 1;
      if (kind.over === 'kept') kept = socket;
      else socket.destroy();
    }
    kept?.destroy();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runConnection));
  return ends;
}

function open({ over }: Flood, port: number): Socket {
  const to = { port, host: '127.0.0.1', localAddress: FROM };
  const tls = { ...to, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] };
  return (over === 'raw' ? connect(to) : connectTls(tls)).on('error', () => {});
}

function attempt({ leaves, over }: Flood, socket: Socket, sent: string | Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const done = (end: string): void => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose);
      resolve(end);
    };
    const onData = (bytes: Buffer): void => {
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
    const onClose = (): void => done('closed');
    const timer = setTimeout(() => {
      socket.destroy();
      done('no response');
    }, PATIENCE_MS);
    socket.on('data', onData).once('close', onClose);
    if (leaves === true) socket.write(sent, () => done('left'));
    else socket.write(sent);
  });
}
