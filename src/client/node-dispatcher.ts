import { isIP } from 'node:net';
import { Agent, type buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { type ProxyOptions, usesProxy } from './proxy.ts';

/** TLS options, which browsers do not have. */
export interface TlsOptions {
  /** CA certificates (PEM) to trust instead of the system CAs. */
  readonly ca?: string;
  /** The client certificate and its key (PEM). */
  readonly cert?: string;
  readonly key?: string;
  /** The name in the server's certificate, if it differs from the host name in the URL. */
  readonly servername?: string;
  /** Does not verify the server's certificate. For tests only. */
  readonly insecureSkipTlsVerify?: boolean;
}

/** Of the answer of a proxy to CONNECT. undici's limit for a response is five minutes, also after the request ended. */
const TUNNEL_TIMEOUT_MS = 10_000;

/** The connections of undici with these options. */
export function createConnections(
  { insecureSkipTlsVerify = false, ...tls }: TlsOptions,
  proxy: ProxyOptions | undefined,
): Dispatcher {
  const connect = { ...tls, rejectUnauthorized: !insecureSkipTlsVerify };
  // A watch may be silent for a minute. The client has its own idle timeout.
  const options = { connect, bodyTimeout: 0 };
  const direct = new Agent(options);
  if (proxy === undefined) return direct;
  const clientFactory = (origin: URL, { connect: toProxy, ...pool }: Pool.Options) => {
    const named = typeof toProxy === 'function' ? { connect: withoutAddressAsName(toProxy) } : {};
    return new Pool(origin, { ...pool, ...named, headersTimeout: TUNNEL_TIMEOUT_MS });
  };
  let proxied: ProxyAgent | undefined;
  return direct.compose((dispatch) => (request, handler) => {
    if (!usesProxy(proxy, new URL(String(request.origin)))) return dispatch(request, handler);
    // Made when it is needed: an address that is not that of a proxy is no error for the hosts of NO_PROXY.
    proxied ??= new ProxyAgent({ ...options, requestTls: connect, uri: proxy.url, clientFactory });
    return proxied.dispatch(request, handler);
  });
}

/**
 * undici names the host of the proxy in TLS. An address is no server name (RFC 6066 section 3), and Node refuses it;
 * without a name, the certificate has to be for the address.
 */
function withoutAddressAsName(connect: buildConnector.connector): buildConnector.connector {
  return ({ servername, ...options }, callback) => {
    const isAddress = isIP(servername?.replace(/^\[|\]$/g, '') ?? '') !== 0;
    connect({ ...options, ...(servername === undefined || isAddress ? {} : { servername }) }, callback);
  };
}
