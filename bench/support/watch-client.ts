/**
 * A client process with many watches, which behave like those of client-go: each has its own connection and a full TLS
 * handshake, gives up after ten seconds without one, and tries again with the backoff of a reflector. Each resumes at
 * the resourceVersion of the job, and waits as long as `Retry-After` says after a 429. The process fails at the first
 * 410 and when a watch fails ten times in a row: a reflector would then list again.
 */
import { connect, type TLSSocket } from 'node:tls';

export interface WatchJob {
  readonly port: number;
  readonly watches: number;
  /** An address of this machine that they connect from: one has ports for 28,000 connections to one server. */
  readonly localAddress: string;
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
  /** Connections that failed or were closed before a response. */
  readonly failed: number;
  /** Of these, those without a handshake after ten seconds. */
  readonly timedOut: number;
}

/** Of client-go's reflector: doubled after each failure, and up to twice that at random. */
const BACKOFF_MS = { first: 800, most: 30_000 };
const HANDSHAKE_MS = 10_000;
const MAX_FAILURES = 10;

function openAll({ port, watches, localAddress, token, resourceVersion }: WatchJob): Promise<WatchOutcome> {
  const begun = performance.now();
  const codes: Record<string, number> = {};
  let [withoutRetryAfter, failed, timedOut, opened] = [0, 0, 0, 0];
  const request = [
    `GET /auth/v1/clusters?watch=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion} HTTP/1.1`,
    'Host: 127.0.0.1',
    'User-Agent: bench',
    `Authorization: Bearer ${token}`,
    '\r\n',
  ].join('\r\n');
  return new Promise((resolve, reject) => {
    const failToResume = (reason: string): void => reject(new Error(`a watch would have to list again: ${reason}`));
    const retry = (afterMs: number, failures: number): void => {
      if (failures === MAX_FAILURES) failToResume(`${MAX_FAILURES} connections in a row failed`);
      else setTimeout(open, afterMs * (1 + Math.random()), failures);
    };
    const open = (failures: number): void => {
      let head = '';
      let isAnswered = false;
      const to = { host: '127.0.0.1', port, localAddress, rejectUnauthorized: false };
      const socket: TLSSocket = connect(to, () => {
        clearTimeout(timer);
        socket.write(request);
      });
      const timer = setTimeout(() => {
        timedOut += 1;
        socket.destroy();
      }, HANDSHAKE_MS);
      socket.on('error', () => {});
      socket.once('close', () => {
        clearTimeout(timer);
        if (isAnswered) return;
        failed += 1;
        retry(Math.min(BACKOFF_MS.first * 2 ** failures, BACKOFF_MS.most), failures + 1);
      });
      socket.on('data', (chunk: Buffer) => {
        if (isAnswered) {
          if (chunk.includes('"code":410')) failToResume('410 in an event');
          return;
        }
        head += chunk.toString('latin1');
        if (!head.includes('\r\n\r\n')) return;
        isAnswered = true;
        const code = head.slice(9, 12);
        codes[code] = (codes[code] ?? 0) + 1;
        if (head.includes('"code":410')) failToResume(`410 in a response with status ${code}`);
        if (code === '200') {
          opened += 1;
          if (opened === watches) {
            const seconds = (performance.now() - begun) / 1000;
            resolve({ seconds, codes, withoutRetryAfter, failed, timedOut });
          }
          return;
        }
        const after = /\r\nretry-after: (\d+)/i.exec(head)?.[1];
        if (after === undefined) withoutRetryAfter += 1;
        socket.destroy();
        retry(after === undefined ? BACKOFF_MS.first : Number(after) * 1000, 0);
      });
    };
    for (let index = 0; index < watches; index++) open(0);
  });
}

process.on('message', (job: WatchJob) => {
  void openAll(job).then((outcome) => process.send?.(outcome));
});
process.on('disconnect', () => process.exit());
