import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from '../../lib/node-http.ts';
import { CliError } from '../command.ts';

/** The redirect URI on loopback (RFC 8252 section 7.3). */
export interface RedirectListener {
  readonly redirectUri: string;
  /** The URL of the browser's request, and the function that answers it with a text. */
  readonly redirect: Promise<{ readonly url: URL; respond(text: string): void }>;
  close(): void;
}

interface ListenerOptions {
  /** 0 takes any free port. */
  readonly port: number;
  /** A request with another `state` gets an error page and is ignored. */
  readonly state: string;
  readonly signal: AbortSignal;
}

const PATH = '/callback';

export async function listenForRedirect({ port, state, signal }: ListenerOptions): Promise<RedirectListener> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<RedirectListener['redirect']>>();
  let isAnswered = false;
  const server = createServer((request, response) => {
    const target = request.url ?? '';
    // Any page and any program on this machine can send requests here, also with a target that is no path.
    const url = target.startsWith(PATH) && URL.canParse(target, redirectUri) ? new URL(target, redirectUri) : undefined;
    if (request.method !== 'GET' || url?.pathname !== PATH) return send(response, 404, 'Not found.');
    if (url.searchParams.get('state') !== state) return send(response, 400, 'The state is not that of this login.');
    if (isAnswered) return send(response, 400, 'This login has its answer.');
    isAnswered = true;
    resolve({ url, respond: (text) => send(response, 200, text) });
  });
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(`cannot listen on port ${port} for the browser: ${code ?? 'unknown error'}`);
  }
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  // If the caller fails before it awaits `redirect`, the rejection is ignored.
  promise.catch(() => {});
  return {
    redirectUri,
    redirect: promise,
    close: () => {
      server.close();
      server.closeIdleConnections();
    },
  };
}

/** Sends plain text that repeats nothing from the URL and is not cached. */
function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  response.end(`${text}\n`);
}
