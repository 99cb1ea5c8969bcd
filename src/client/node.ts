import { Agent, fetch as undiciFetch } from 'undici';
import type { Fetch } from './transport.ts';

/** What only Node can do: connections that trust other authorities than the system's, or show a certificate. */
export interface TlsOptions {
  /** PEM. Trusted in place of the system's authorities, not beside them. */
  readonly ca?: string;
  /** The client's certificate and key, PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** The name in the server's certificate, where it is not the one in the address. */
  readonly servername?: string;
  /** Trusts whoever answers. For trying things out, never for more. */
  readonly insecureSkipTlsVerify?: boolean;
}

/** A fetch for `createClient({ fetch })`. */
export function createNodeFetch({ insecureSkipTlsVerify = false, ...tls }: TlsOptions): Fetch {
  const dispatcher = new Agent({
    connect: { ...tls, rejectUnauthorized: !insecureSkipTlsVerify },
    // A watch may be silent for a minute; the client has a limit of its own.
    bodyTimeout: 0,
  });
  // The package's own fetch, because an agent works only with the fetch it came with. The two have the same interface.
  const fetch = undiciFetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return (input, init) => fetch(input, { ...init, dispatcher });
}
