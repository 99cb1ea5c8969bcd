import { fetch as undiciFetch } from 'undici';
import { createConnections, type TlsOptions } from './node-dispatcher.ts';
import { type ProxyOptions, withProxyInErrors } from './proxy.ts';
import type { Fetch } from './transport.ts';

export type { ProxyOptions, TlsOptions };

/** A fetch for `createClient({ fetch })`. */
export function createNodeFetch({ proxy, ...tls }: TlsOptions & { readonly proxy?: ProxyOptions | undefined }): Fetch {
  const dispatcher = createConnections(tls, proxy);
  // undici's fetch, because its Agent does not work with the fetch of Node. Both have the same interface.
  const fetch = undiciFetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return withProxyInErrors((input, init) => fetch(input, { ...init, dispatcher }), proxy);
}
