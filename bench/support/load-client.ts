/**
 * A client process: gets one `Job` as a message, sends requests until its time is over, and sends back the `Outcome`.
 * It uses plain sockets, so that it costs far less than the server.
 */
import { connect } from 'node:net';

export interface Job {
  readonly port: number;
  /** Request texts, one for each caller. Connection n sends text n, modulo their number. */
  readonly requests: readonly string[];
  readonly connections: number;
  /** Requests a second of all connections together; 0, the default: each sends the next request after the response. */
  readonly rate?: number;
  readonly seconds: number;
}

export interface Outcome {
  /** Responses by status code; `error` for connections that failed. */
  readonly codes: Record<string, number>;
  /** Of each success, in milliseconds: when it came after the start, and how long after the request was due. */
  readonly served: readonly (readonly [at: number, took: number])[];
  /** Requests that were sent. */
  readonly sent: number;
}

/** How long a request may be pending after the time is over. It then counts neither as success nor as failure. */
const GRACE_MS = 2_000;

async function work({ port, requests, connections, rate = 0, seconds }: Job): Promise<Outcome> {
  const start = performance.now();
  const end = start + seconds * 1000;
  const codes: Record<string, number> = {};
  const served: [number, number][] = [];
  let sent = 0;
  const count = (code: string): void => {
    codes[code] = (codes[code] ?? 0) + 1;
  };
  const runConnection = (index: number): Promise<void> =>
    new Promise((resolve) => {
      const request = requests[index % requests.length] ?? '';
      let due = start + (rate > 0 ? (index * 1000) / rate : 0);
      let received = '';
      const socket = connect(port, '127.0.0.1').setNoDelay(true);
      socket.setEncoding('latin1');
      const send = (): void => {
        if (performance.now() >= end) return void socket.end();
        sent += 1;
        socket.write(request);
      };
      const sendNext = (): void => {
        const now = performance.now();
        if (rate === 0) {
          due = now;
          send();
          return;
        }
        due += (connections * 1000) / rate;
        if (due <= now) send();
        else setTimeout(send, due - now);
      };
      socket.once('connect', () => (due > performance.now() ? setTimeout(send, due - performance.now()) : send()));
      socket.on('data', (text: string) => {
        received += text;
        const head = received.indexOf('\r\n\r\n');
        if (head < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(received.slice(0, head))?.[1] ?? 0);
        if (received.length < head + 4 + length) return;
        const code = received.slice(9, 12);
        received = '';
        count(code);
        const now = performance.now();
        if (code.startsWith('2')) served.push([now - start, now - due]);
        sendNext();
      });
      socket.on('error', () => count('error'));
      socket.on('close', () => resolve());
      setTimeout(() => socket.destroy(), Math.max(0, end - performance.now()) + GRACE_MS);
    });
  await Promise.all(Array.from({ length: connections }, (_, index) => runConnection(index)));
  return { codes, served, sent };
}

process.once('message', (job: Job) => {
  void work(job).then((outcome) => process.send?.(outcome, () => process.exit()));
});
