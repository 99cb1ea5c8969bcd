/**
 * One caller of bench/overload.ts, in a process of its own. It is told `{ ...Job }`, works until the time is over, and
 * tells what it got. On bare sockets: a client as heavy as the server would measure itself.
 */
import { connect } from 'node:net';

export interface Job {
  readonly port: number;
  /** Whole requests, one for each caller; connections take them in turns. */
  readonly requests: readonly string[];
  readonly connections: number;
  /** Requests a second for all connections together; 0 for the next as soon as there is an answer. */
  readonly rate: number;
  readonly seconds: number;
}

export interface Outcome {
  readonly codes: Record<string, number>;
  /** When an answer that was wanted came (milliseconds since the start) and how long it took, from when it was due. */
  readonly served: readonly (readonly [at: number, took: number])[];
  /** Requests that were due. */
  readonly asked: number;
}

async function work({ port, requests, connections, rate, seconds }: Job): Promise<Outcome> {
  const start = performance.now();
  const end = start + seconds * 1000;
  const codes: Record<string, number> = {};
  const served: [number, number][] = [];
  let asked = 0;
  const count = (code: string): void => {
    codes[code] = (codes[code] ?? 0) + 1;
  };
  const one = (index: number): Promise<void> =>
    new Promise((resolve) => {
      const request = requests[index % requests.length] ?? '';
      let due = start + (rate > 0 ? (index * 1000) / rate : 0);
      let received = '';
      const socket = connect(port, '127.0.0.1').setNoDelay(true);
      socket.setEncoding('latin1');
      const ask = (): void => {
        if (performance.now() >= end) return void socket.end();
        asked += 1;
        socket.write(request);
      };
      const next = (): void => {
        const now = performance.now();
        if (rate === 0) {
          due = now;
          ask();
          return;
        }
        due += (connections * 1000) / rate;
        if (due <= now) ask();
        else setTimeout(ask, due - now);
      };
      socket.once('connect', () => (due > performance.now() ? setTimeout(ask, due - performance.now()) : ask()));
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
        next();
      });
      socket.on('error', () => count('error'));
      socket.on('close', () => resolve());
      // Whatever is still waited for when the time is over is neither success nor failure.
      setTimeout(() => socket.destroy(), Math.max(0, end - performance.now()) + 2_000);
    });
  await Promise.all(Array.from({ length: connections }, (_, index) => one(index)));
  return { codes, served, asked };
}

process.once('message', (job: Job) => {
  void work(job).then((outcome) => process.send?.(outcome, () => process.exit()));
});
