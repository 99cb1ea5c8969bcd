import { Readable } from 'node:stream';
import { request } from 'undici';
import { createConnections, type TlsOptions } from '../../client/node-dispatcher.ts';
import { type ProxyOptions, withProxyInErrors } from '../../client/proxy.ts';
import type { Fetch } from '../../client/transport.ts';

/**
 * A fetch for thousands of short requests: `request` of undici, with the parts of a response that `Transport` reads.
 * The Request, Response and web streams of a real fetch cost more CPU than everything else in a synchronization.
 */
export function createRequestFetch(tls: TlsOptions, proxy: ProxyOptions | undefined): Fetch {
  const dispatcher = createConnections(tls, proxy);
  const fetch: Fetch = async (input, init = {}) => {
    const { method = 'GET', headers, body, signal } = init;
    const response = await request(String(input), {
      dispatcher,
      method: method as 'GET',
      headers: headers as Record<string, string>,
      ...(typeof body === 'string' ? { body } : {}),
      ...(signal == null ? {} : { signal }),
    });
    const { statusCode: status, headers: received, body: stream } = response;
    return {
      status,
      // A redirect is not followed: it is a response that is not ok.
      ok: status >= 200 && status < 300,
      headers: { get: (name: string) => received[name.toLowerCase()]?.toString() ?? null },
      text: () => stream.text(),
      get body() {
        return Readable.toWeb(stream);
      },
    } as unknown as Response;
  };
  return withProxyInErrors(fetch, proxy);
}
