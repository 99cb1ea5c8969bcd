import { Agent, fetch as undiciFetch } from 'undici';
import type { Fetch } from './transport.ts';

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

/** A fetch for `createClient({ fetch })`. */
export function createNodeFetch({ insecureSkipTlsVerify = false, ...tls }: TlsOptions): Fetch {
  const dispatcher = new Agent({
    connect: { ...tls, rejectUnauthorized: !insecureSkipTlsVerify },
    // A watch may be silent for a minute. The client has its own idle timeout.
    bodyTimeout: 0,
  });
  // undici's fetch, because its Agent does not work with the fetch of Node. Both have the same interface.
  const fetch = undiciFetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return (input, init) => fetch(input, { ...init, dispatcher });
}
