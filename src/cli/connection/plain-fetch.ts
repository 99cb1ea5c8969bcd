import type { IncomingMessage } from 'node:http';
import type { Agent, RequestOptions } from 'node:https';
import { type ProxyOptions, usesProxy, withProxyInErrors } from '../../client/proxy.ts';
import type { Fetch } from '../../client/transport.ts';
import type { Context } from '../command.ts';
import type { TlsTrust } from './fetch-for.ts';
import { proxyOf } from './proxy-of.ts';

/** A credential has some kilobytes. */
const MAX_BYTES = 1024 * 1024;

/** The same words for the same failure in every implementation of the plugin. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name is not known',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'timed out',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_PROXY_TUNNEL: 'the proxy refused the connection',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

/**
 * A fetch for one short request, by `node:https`: Node's own fetch takes longer to load than the whole plugin. It has
 * the parts of a response that `Transport` reads, and follows no redirect, which would get the token.
 */
export function plainFetch({ certificateAuthority: ca, insecureSkipTlsVerify }: TlsTrust, env: Context['env']): Fetch {
  const proxy = proxyOf(env);
  const fetch: Fetch = async (input, init = {}) => {
    const url = new URL(String(input));
    const { method = 'GET', headers, body, signal } = init;
    const options: RequestOptions = {
      method,
      headers: headers as Record<string, string>,
      agent: usesProxy(proxy, url) ? proxyAgent(proxy) : false,
      ...(ca === undefined ? {} : { ca }),
      rejectUnauthorized: !insecureSkipTlsVerify,
      minVersion: 'TLSv1.2',
    };
    // `import` reads every export of a module of Node, and some of `node:http` load the fetch that this avoids.
    const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = request(url, options, resolve);
    // A request whose proxy has not answered yet has no socket to destroy, so it would not fail.
    const abort = (): void => {
      reject(signal?.reason);
      sent.destroy(signal?.reason as Error);
    };
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort, { once: true });
    sent.on('error', reject);
    sent.end(body as string | undefined);
    try {
      const response = await promise;
      const { statusCode: status = 0 } = response;
      const text = await read(response);
      return {
        status,
        ok: status >= 200 && status < 300,
        headers: { get: (name: string) => response.headers[name.toLowerCase()]?.toString() ?? null },
        body: null,
        text: async () => text,
      } as unknown as Response;
    } catch (error) {
      throw inWords(error);
    } finally {
      signal?.removeEventListener('abort', abort);
      sent.destroy();
    }
  };
  return withProxyInErrors(fetch, proxy);
}

/** CP-96: the proxy of the environment, by Node from 24.5 on. */
const proxyAgent = ({ url }: ProxyOptions): Agent =>
  new (process.getBuiltinModule('node:https').Agent)({ proxyEnv: { HTTPS_PROXY: url } });

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error('the response is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function inWords(error: unknown): unknown {
  // Node tries several addresses of a host: the first one says why.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const { code = '' } = first as NodeJS.ErrnoException;
  // The codes of Node's HTTP parser.
  const words = WORDS[code] ?? (String(code).startsWith('HPE_') ? 'it does not answer in HTTP' : undefined);
  return words === undefined ? first : Object.assign(new Error(words), { code });
}
