import type { Fetch } from '../../client/transport.ts';
import type { Context } from '../command.ts';
import { proxyOf } from './proxy-of.ts';

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
