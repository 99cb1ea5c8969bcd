import { createNodeFetch } from '../../client/node.ts';
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

/** A fetch with these TLS settings, through the proxy of the environment. */
export const fetchFor = (
  { certificateAuthority: ca, insecureSkipTlsVerify, cert, key, tlsServerName: servername }: TlsTrust & ClientTls,
  env: Context['env'],
): Fetch =>
  createNodeFetch({
    ...{ ca, insecureSkipTlsVerify, servername, proxy: proxyOf(env) },
    // One without the other is no client certificate.
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  });
