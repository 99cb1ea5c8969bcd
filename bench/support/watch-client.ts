/**
 * A client process with many watches, which behave like those of client-go: after an interruption each resumes at its
 * last resourceVersion, waits as long as `Retry-After` says after a 429, and lists again after a 410.
 */
import { connect, type TLSSocket } from 'node:tls';

export interface WatchJob {
  readonly port: number;
  readonly watches: number;
  readonly token: string;
  /** Where the watches resume. */
  readonly resourceVersion: string;
}

export interface WatchOutcome {
  /** From the first connection until every watch is open. */
  readonly seconds: number;
  /** Responses by status code. */
  readonly codes: Readonly<Record<string, number>>;
  /** Of these, rejections without `Retry-After`. */
  readonly withoutRetryAfter: number;
  /** Watches whose version was gone. */
  readonly expired: number;
  /** Connections that failed or were closed before a response. */
  readonly failed: number;
}

const RETRY_MS = 1_000;
/** The newest TLS session. Clients that reconnect resume their sessions. */
let session: Buffer | undefined;

function openAll({ port, watches, token, resourceVersion }: WatchJob): Promise<WatchOutcome> {
  const begun = performance.now();
  const codes: Record<string, number> = {};
  let [withoutRetryAfter, expired, failed, opened] = [0, 0, 0, 0];
  const request = [
    `GET /auth/v1/clusters?watch=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion} HTTP/1.1`,
    'Host: 127.0.0.1',
    'User-Agent: bench',
    `Authorization: Bearer ${token}`,
    '\r\n',
  ].join('\r\n');
  return new Promise((resolve) => {
    const retry = (afterMs: number): void => void setTimeout(open, afterMs * (1 + Math.random()));
    const open = (): void => {
      let head = '';
      let isAnswered = false;
      const resumed = session === undefined ? {} : { session };
      const socket: TLSSocket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...resumed });
      socket.on('session', (ticket: Buffer) => {
        session = ticket;
      });
      socket.once('secureConnect', () => socket.write(request));
      socket.on('error', () => {});
      socket.once('close', () => {
        if (isAnswered) return;
        failed += 1;
        retry(RETRY_MS);
      });
      socket.on('data', (chunk: Buffer) => {
        if (isAnswered) {
          if (chunk.includes('"code":410')) expired += 1;
          return;
        }
        head += chunk.toString('latin1');
        if (!head.includes('\r\n\r\n')) return;
        isAnswered = true;
        const code = head.slice(9, 12);
        codes[code] = (codes[code] ?? 0) + 1;
        if (head.includes('"code":410')) expired += 1;
        if (code === '200') {
          opened += 1;
          if (opened === watches) {
            const seconds = (performance.now() - begun) / 1000;
            resolve({ seconds, codes, withoutRetryAfter, expired, failed });
          }
          return;
        }
        const after = /\r\nretry-after: (\d+)/i.exec(head)?.[1];
        if (after === undefined) withoutRetryAfter += 1;
        socket.destroy();
        retry(after === undefined ? RETRY_MS : Number(after) * 1000);
      });
    };
    for (let index = 0; index < watches; index++) open();
  });
}

process.on('message', (job: WatchJob) => {
  void openAll(job).then((outcome) => process.send?.(outcome));
});
process.on('disconnect', () => process.exit());
