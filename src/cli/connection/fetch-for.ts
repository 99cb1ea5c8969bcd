import type { Fetch } from '../../client/transport.ts';
import type { Context } from '../command.ts';
import { proxyOf } from './proxy-of.ts';

export interface TlsTrust {
  /** PEM */
  readonly certificateAuthority: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
}

/** What the API server of a cluster may want beyond that, as a kubeconfig has it. PEM. */
interface ClientTls {
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly tlsServerName?: string | undefined;
}

/**
 * A fetch with these TLS settings, through the proxy of the environment. undici is imported only if they differ from
 * Node's defaults: most commands send one request, and start sooner with Node's own fetch.
 */
export async function fetchFor(trust: TlsTrust, env: Context['env']): Promise<Fetch> {
  if (trust.certificateAuthority === undefined && !trust.insecureSkipTlsVerify && proxyOf(env) === undefined) {
    return (input, init) => globalThis.fetch(input, init);
  }
  return undiciFetchFor(trust, env);
}

/** The same by undici, for commands with thousands of requests, and for clusters. */
export async function undiciFetchFor(
  { certificateAuthority: ca, insecureSkipTlsVerify, cert, key, tlsServerName }: TlsTrust & ClientTls,
  env: Context['env'],
): Promise<Fetch> {
  const { createNodeFetch } = await import('../../client/node.ts');
  return createNodeFetch({
    insecureSkipTlsVerify,
    proxy: proxyOf(env),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
  });
}
