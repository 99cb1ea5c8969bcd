import type { IssuedPass, RequestedPass } from '../api/kinds/token-request-list.ts';
import type { Transport } from './transport.ts';

const PASSES = '/auth/v1/passes';
/** The limit of the server. Repeated here, because the client imports only types. */
export const MAX_PASSES = 500;

export interface PassOptions {
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/** In the order of `requested`. Each item has a token or an error. More items than one request takes are split. */
export async function createPasses(
  transport: Transport,
  requested: readonly RequestedPass[],
  { dryRun = false, signal }: PassOptions = {},
): Promise<IssuedPass[]> {
  const passes: IssuedPass[] = [];
  for (let from = 0; from < requested.length; from += MAX_PASSES) {
    const items = requested.slice(from, from + MAX_PASSES);
    const { value } = await transport.request<{ items: IssuedPass[] }>('POST', PASSES, {
      body: { items },
      expects: 'items',
      query: { dryRun: dryRun ? 'All' : undefined },
      signal,
    });
    passes.push(...value.items);
  }
  return passes;
}
