import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';

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

/** A proxy for https, as in the variables HTTPS_PROXY and NO_PROXY. */
export interface ProxyOptions {
  readonly httpsProxy: string;
  /** The hosts that are reached without it. */
  readonly noProxy: string;
}

/** The connections of undici with these options. */
export function createDispatcher(
  { insecureSkipTlsVerify = false, ...tls }: TlsOptions,
  proxy: ProxyOptions | undefined,
): Dispatcher {
  const connect = { ...tls, rejectUnauthorized: !insecureSkipTlsVerify };
  // A watch may be silent for a minute. The client has its own idle timeout.
  const options = { connect, bodyTimeout: 0 };
  // `httpProxy` is set, because undici would use the variable otherwise.
  return proxy === undefined
    ? new Agent(options)
    : new EnvHttpProxyAgent({ ...options, requestTls: connect, httpProxy: '', ...proxy });
}
