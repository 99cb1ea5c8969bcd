import { fieldSelectorFor } from '../../../src/api/selectors.ts';
import type { Client, TrackedToken } from '../../../src/client/index.ts';
import { readPages } from '../../../src/client/list-pages.ts';

const ISSUED_TOKENS = '/apis/clusterpass.dev/v1alpha1/issuedtokens';
export interface PassFilter {
  readonly cluster: string;
  readonly requester: string;
  /** `namespace/name`, or a part of it. */
  readonly account: string;
}

export interface PassPage {
  readonly passes: readonly TrackedToken[];
  /** `""` on the last page. */
  readonly next: string;
  /** Passes beyond this page. */
  readonly remaining: number;
}

interface TrackedTokenList {
  readonly metadata: { readonly continue?: string; readonly remainingItemCount?: number };
  readonly items: readonly TrackedToken[];
}

/** At most `limit` of the passes that match. The server filters: a fleet can have hundreds of thousands. */
export async function listPasses(
  client: Client,
  filter: PassFilter,
  from: string,
  limit: number,
  signal?: AbortSignal,
): Promise<PassPage> {
  const { value } = await client.request<TrackedTokenList>('GET', ISSUED_TOKENS, {
    query: {
      limit,
      fieldSelector: fieldSelector(filter),
      continue: from === '' ? undefined : from,
    },
    signal,
  });
  const { continue: next = '', remainingItemCount: remaining = 0 } = value.metadata;
  return { passes: value.items, next, remaining };
}

/** All passes that match. */
export async function listAllPasses(client: Client, filter: PassFilter): Promise<TrackedToken[]> {
  const pages = await readPages<TrackedTokenList>(client, ISSUED_TOKENS, { fieldSelector: fieldSelector(filter) });
  return pages.flatMap(({ items }) => items);
}

/** Undefined if nothing is selected. */
export function fieldSelector({ cluster, requester, account }: PassFilter): string | undefined {
  const [namespace = '', name = ''] = account.includes('/') ? account.split('/', 2) : ['', account];
  const parts = [
    ['spec.cluster', cluster],
    ['spec.requestedBy.username', requester],
    ['spec.serviceAccount.namespace', namespace],
    ['spec.serviceAccount.name', name],
  ].filter(([, value]) => value !== '');
  if (parts.length === 0) return undefined;
  return parts.map(([field = '', value = '']) => fieldSelectorFor(field, value)).join(',');
}
