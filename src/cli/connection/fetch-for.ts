import type { Fetch } from '../../client/transport.ts';

export interface Trust {
  /** PEM */
  readonly certificateAuthority: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
}

/** The package that can trust other authorities is loaded only where it is needed. */
export async function fetchFor({ certificateAuthority: ca, insecureSkipTlsVerify }: Trust): Promise<Fetch> {
  if (ca === undefined && !insecureSkipTlsVerify) return (input, init) => globalThis.fetch(input, init);
  const { createNodeFetch } = await import('../../client/node.ts');
  return createNodeFetch({ insecureSkipTlsVerify, ...(ca === undefined ? {} : { ca }) });
}
