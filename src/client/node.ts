import { Readable } from 'node:stream';
import { request } from 'undici';
import { createConnections, type TlsOptions } from './node-dispatcher.ts';
import { type ProxyOptions, withProxyInErrors } from './proxy.ts';
import type { Fetch } from './transport.ts';

export type { ProxyOptions, TlsOptions };

/**
 * A fetch for `createClient({ fetch })`: `request` of undici, with the parts of a response that a client reads. It
 * follows no redirect. The Request, Response and web streams of a real fetch cost more CPU than everything else in a
 * synchronization of thousands of short requests.
 */
export function createNodeFetch({ proxy, ...tls }: TlsOptions & { readonly proxy?: ProxyOptions | undefined }): Fetch {
  const dispatcher = createConnections(tls, proxy);
  const fetch: Fetch = async (input, init = {}) => {
    const { method = 'GET', headers, body, signal } = init;
    const response = await request(String(input), {
      dispatcher,
      method: method as 'GET',
      headers: Object.fromEntries(new Headers(headers)),
      ...(body == null ? {} : { body: String(body) }),
      ...(signal == null ? {} : { signal }),
    });
    const { statusCode: status, headers: received, body: stream } = response;
    const lines = Object.entries(received).map(([name, value]): [string, string] => [name, String(value)]);
    return {
      status,
      // A redirect is a response that is not ok.
      ok: status >= 200 && status < 300,
      headers: new Headers(lines),
      text: () => stream.text(),
      json: () => stream.json(),
      get body() {
        return Readable.toWeb(stream);
      },
    } as unknown as Response;
  };
  return withProxyInErrors(fetch, proxy);
}
