import { isStatus } from './errors.ts';
import { DEFAULT_PAGE } from './list-clusters.ts';
import type { Transport } from './transport.ts';
import type { TokenSelection, TrackedToken } from './types.ts';

const ISSUED_TOKENS = '/apis/clusterpass.dev/v1alpha1/issuedtokens';

interface Page {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly TrackedToken[];
}

/** Page by page. If the pages go out of date on the way, it is asked for once more, in one piece. */
export async function listIssuedTokens(transport: Transport, options: TokenSelection = {}): Promise<TrackedToken[]> {
  const { fieldSelector, signal } = options;
  const page = async (limit: number, from: string): Promise<Page> => {
    const query = { fieldSelector, limit, ...(from === '' ? {} : { continue: from }) };
    const request = { query, ...(signal === undefined ? {} : { signal }) };
    return (await transport.request<Page>('GET', ISSUED_TOKENS, request)).value;
  };
  try {
    const items: TrackedToken[] = [];
    let next = '';
    do {
      const { metadata, items: more } = await page(DEFAULT_PAGE, next);
      items.push(...more);
      next = metadata.continue ?? '';
    } while (next !== '');
    return items;
  } catch (error) {
    if (!isStatus(error, 410)) throw error;
    return [...(await page(0, '')).items];
  }
}

/** From then on the token is accepted nowhere that asks the service, whether or not there is a record of it. */
export async function revokeToken(transport: Transport, jti: string, signal?: AbortSignal): Promise<void> {
  if (!/^[0-9a-f-]{36}$/.test(jti)) throw new TypeError('jti is not the id of a token');
  await transport.request('DELETE', `${ISSUED_TOKENS}/${jti}`, signal === undefined ? {} : { signal });
}
