/** Not imported from transport.ts, which imports this file for its errors. */
type Fetch = typeof globalThis.fetch;

/** A proxy for https. */
export interface ProxyOptions {
  readonly url: string;
  /** For errors: `proxy.example.com:3128 of HTTPS_PROXY`. */
  readonly name: string;
  /** False for an address that is reached without it. Throws if the proxy cannot be used. */
  readonly isFor: (address: URL) => boolean;
}

export const usesProxy = (proxy: ProxyOptions | undefined, address: URL): proxy is ProxyOptions =>
  address.protocol === 'https:' && proxy?.isFor(address) === true;

/** A request through a proxy failed. The cause may be the proxy or the server. A TypeError, like those of fetch. */
export class ProxiedRequestError extends TypeError {
  readonly proxy: string;

  constructor(proxy: string, cause: unknown) {
    super(`through the proxy ${proxy}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.proxy = proxy;
  }
}

/** A fetch whose errors name the proxy that the request went through. */
export const withProxyInErrors =
  (fetch: Fetch, proxy: ProxyOptions | undefined): Fetch =>
  async (input, init) => {
    const isProxied = usesProxy(proxy, new URL(String(input)));
    try {
      return await fetch(input, init);
    } catch (error) {
      throw isProxied ? new ProxiedRequestError(proxy.name, error) : error;
    }
  };

/** ` through the proxy H:P of HTTPS_PROXY`, for the error of a request; empty without a proxy. */
export const throughProxy = (error: unknown): string => {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof ProxiedRequestError) return ` through the proxy ${inner.proxy}`;
  }
  return '';
};
