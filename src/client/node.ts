import type { IncomingMessage } from 'node:http';
import type { Agent, AgentOptions } from 'node:https';
import { type ProxyOptions, usesProxy, withProxyInErrors } from './proxy.ts';
import type { Fetch } from './transport.ts';

export type { ProxyOptions };

/** TLS options, which browsers do not have. */
export interface TlsOptions {
  /** CA certificates (PEM) to trust instead of the system CAs. */
  readonly ca?: string | undefined;
  /** The client certificate and its key (PEM). */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The name in the server's certificate, if it differs from the host name in the URL. */
  readonly servername?: string | undefined;
  /** Does not verify the server's certificate. For tests only. */
  readonly insecureSkipTlsVerify?: boolean;
}

/** How long the headers of a response may take, also where a proxy has not answered yet. */
const HEADERS_TIMEOUT_MS = 60_000;
/** Servers close connections that are idle for longer. */
const KEEP_ALIVE_MS = 4_000;
/** Node has one option for an idle connection and for the answer of a proxy to CONNECT. */
const TUNNEL_TIMEOUT_MS = 10_000;

/** The same words for the same failure in every implementation of the credential plugin. */
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
 * A fetch for `createClient({ fetch })`, by `node:https`, with the parts of a response that a client reads. It follows
 * no redirect, which would get the token. Node's own fetch takes longer to load than a whole command, and its Request,
 * Response and web streams cost more CPU than everything else in a synchronization of thousands of short requests.
 */
export function createNodeFetch({
  proxy,
  insecureSkipTlsVerify = false,
  ...tls
}: TlsOptions & { readonly proxy?: ProxyOptions | undefined }): Fetch {
  const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
  const options: AgentOptions = {
    ...given,
    rejectUnauthorized: !insecureSkipTlsVerify,
    minVersion: 'TLSv1.2',
    keepAlive: true,
    timeout: KEEP_ALIVE_MS,
  };
  const agents = new Map<string, Agent>();
  /** Made when it is needed: an address that is not that of a proxy is no error for the hosts of NO_PROXY. */
  const agentFor = (url: URL): Agent => {
    const proxied = usesProxy(proxy, url) ? proxy : undefined;
    const name = proxied === undefined ? url.protocol : 'proxy';
    const known = agents.get(name);
    if (known !== undefined) return known;
    // All connections share it: each would parse the certificates again.
    const tlsContext = () => ({ secureContext: process.getBuiltinModule('node:tls').createSecureContext(options) });
    const more = proxied !== undefined ? through(proxied) : name === 'https:' ? tlsContext() : {};
    const agent = new (moduleFor(url).Agent)({ ...options, ...more });
    agents.set(name, agent);
    return agent;
  };
  const fetch: Fetch = async (input, { method = 'GET', headers = {}, body, signal } = {}) => {
    const url = new URL(String(input));
    const content = body == null ? undefined : String(body);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = moduleFor(url).request(url, {
      method,
      headers: {
        ...(Symbol.iterator in headers ? Object.fromEntries(headers) : headers),
        // Node adds it only where a body is usual: not to DELETE.
        ...(content === undefined ? {} : { 'Content-Length': Buffer.byteLength(content) }),
      },
      agent: agentFor(url),
    });
    let received: IncomingMessage | undefined;
    // A request whose proxy has not answered yet has no socket to destroy, so it would not fail.
    const end = (reason: unknown): void => {
      reject(reason);
      received?.destroy(reason as Error);
      sent.destroy(reason as Error);
    };
    const abort = (): void => end(signal?.reason);
    const timer = setTimeout(() => end(new Error(WORDS.ETIMEDOUT)), HEADERS_TIMEOUT_MS);
    sent.on('error', reject).on('response', (response: IncomingMessage) => {
      received = response;
      resolve(response);
    });
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort, { once: true });
    sent.once('close', () => signal?.removeEventListener('abort', abort));
    sent.end(content);
    try {
      return responseOf(await promise);
    } catch (error) {
      signal?.removeEventListener('abort', abort);
      throw inWords(error);
    } finally {
      clearTimeout(timer);
    }
  };
  return withProxyInErrors(fetch, proxy);
}

/** `import` reads every export of a module of Node, and some of `node:http` load the fetch that this avoids. */
const moduleFor = ({ protocol }: URL) =>
  process.getBuiltinModule(protocol === 'https:' ? 'node:https' : 'node:http') as typeof import('node:https');

/** CP-96: the proxy of the environment. */
function through({ url }: ProxyOptions): AgentOptions {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  // An older one would ignore the option, and connect directly.
  if (major < 24 || (major === 24 && minor < 5)) throw new Error('a proxy needs Node 24.5 or newer');
  return { proxyEnv: { HTTPS_PROXY: url }, timeout: TUNNEL_TIMEOUT_MS };
}

function responseOf(received: IncomingMessage): Response {
  const { statusCode: status = 0, headers } = received;
  const text = async (): Promise<string> => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of received as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch (error) {
      throw inWords(error);
    }
    return Buffer.concat(chunks).toString();
  };
  const values = new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return {
    status,
    // A redirect is a response that is not ok.
    ok: status >= 200 && status < 300,
    headers: Object.assign(values, { get: (name: string) => headers[name.toLowerCase()]?.toString() ?? null }),
    text,
    json: async () => JSON.parse(await text()),
    body: bodyOf(received),
  } as unknown as Response;
}

/** What a client reads of a body. Node's web streams take 1 MB of memory, and more CPU time than the request. */
function bodyOf(received: IncomingMessage) {
  const chunks = received[Symbol.asyncIterator]();
  const cancel = async (): Promise<void> => void received.destroy();
  return { cancel, getReader: () => ({ read: () => chunks.next(), cancel, releaseLock: () => {} }) };
}

function inWords(error: unknown): unknown {
  // Node tries several addresses of a host: the first one says why.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const { code = '' } = first as NodeJS.ErrnoException;
  // The codes of Node's HTTP parser.
  const words = WORDS[code] ?? (String(code).startsWith('HPE_') ? 'it does not answer in HTTP' : undefined);
  return words === undefined ? first : Object.assign(new Error(words), { code });
}
