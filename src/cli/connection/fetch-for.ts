import type { ProxyOptions } from '../../client/node-dispatcher.ts';
import type { Fetch } from '../../client/transport.ts';
import { type Context, UsageError } from '../command.ts';

export interface TlsTrust {
  /** PEM */
  readonly certificateAuthority: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
}

/**
 * A fetch with these TLS settings, through the proxy of the environment. undici is imported only if they differ from
 * Node's defaults.
 */
export async function fetchFor(
  { certificateAuthority: ca, insecureSkipTlsVerify }: TlsTrust,
  env: Context['env'],
): Promise<Fetch> {
  const proxy = proxyOf(env);
  if (ca === undefined && !insecureSkipTlsVerify && proxy === undefined) {
    return (input, init) => globalThis.fetch(input, init);
  }
  const { createNodeFetch } = await import('../../client/node.ts');
  return createNodeFetch({ insecureSkipTlsVerify, proxy, ...(ca === undefined ? {} : { ca }) });
}

/** Go programs reach this machine without a proxy, too. */
const LOOPBACK = 'localhost,127.0.0.1,::1';

/** The proxy of `HTTPS_PROXY` and `NO_PROXY`. */
export function proxyOf(env: Context['env']): ProxyOptions | undefined {
  const httpsProxy = env.https_proxy || env.HTTPS_PROXY;
  if (!httpsProxy) return undefined;
  return { httpsProxy, noProxy: [env.no_proxy || env.NO_PROXY, LOOPBACK].filter(Boolean).join(',') };
}

/** Refuses an address to which a token would be sent as plain text. `name` is the address in the message. */
export function requireHttps(server: string, { name = server, alternative = '' } = {}): void {
  if (!URL.canParse(server)) throw new UsageError(`${name} is not a URL`);
  const { protocol, hostname } = new URL(server);
  if (protocol === 'https:' || isLoopback(hostname)) return;
  throw new UsageError(`${name} is plain HTTP, which exposes the token on the network: use https${alternative}`);
}

/**
 * Plain HTTP is only safe to these hosts. `hostname` is from a URL: IPv6 addresses have brackets, and a host that ends
 * in a number is an IPv4 address. `node:net` takes long to load.
 */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);
