import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CliError } from '../command.ts';

/** Where the browser comes back to: a port of this machine that nobody else can reach (RFC 8252 section 7.3). */
export interface RedirectListener {
  readonly redirectUri: string;
  /** The address with which the browser came back, and what to show there. */
  readonly answer: Promise<{ readonly url: URL; say(text: string): void }>;
  close(): void;
}

export interface ListenerOptions {
  /** 0 takes any free one. */
  readonly port: number;
  /** Whoever does not bring it is not the one that is waited for, and changes nothing. */
  readonly state: string;
  readonly signal: AbortSignal;
}

const PATH = '/callback';

export async function listenForRedirect({ port, state, signal }: ListenerOptions): Promise<RedirectListener> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<RedirectListener['answer']>>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', redirectUri);
    if (request.method !== 'GET' || url.pathname !== PATH) return show(response, 404, 'There is nothing here.');
    if (url.searchParams.get('state') !== state) return show(response, 400, 'This is not the answer to a login here.');
    resolve({ url, say: (text) => show(response, 200, text) });
  });
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(`cannot listen on port ${port} for the browser: ${code ?? 'it failed'}`);
  }
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  // Whoever waits is told; whoever no longer does need not be.
  promise.catch(() => {});
  return {
    redirectUri,
    answer: promise,
    close: () => {
      server.close();
      server.closeIdleConnections();
    },
  };
}

/** Plain text: nothing that came with the address is repeated, and nothing of it stays in the browser's cache. */
function show(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  response.end(`${text}\n`);
}
