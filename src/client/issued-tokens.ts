import { readPages } from './list-pages.ts';
import type { Transport } from './transport.ts';
import type { TokenSelection, TrackedToken } from './types.ts';

const ISSUED_TOKENS = '/apis/clusterpass.dev/v1alpha1/issuedtokens';

interface TrackedTokenList {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly TrackedToken[];
}

export async function listIssuedTokens(transport: Transport, options: TokenSelection = {}): Promise<TrackedToken[]> {
  const pages = await readPages<TrackedTokenList>(transport, ISSUED_TOKENS, options);
  return pages.flatMap(({ items }) => items);
}

/** Revokes a token, tracked or not. From then on the server and everyone who asks it refuse the token. */
export async function revokeToken(transport: Transport, jti: string, signal?: AbortSignal): Promise<void> {
  if (!/^[0-9a-f-]{36}$/.test(jti)) throw new TypeError('jti is not the ID of a token');
  await transport.request('DELETE', `${ISSUED_TOKENS}/${jti}`, { signal });
}
