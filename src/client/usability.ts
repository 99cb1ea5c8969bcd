import type { UsabilityFacts } from '../api/clusters/usability.ts';
import { clusterPrefix, reviewResourceAccess } from './access-reviews.ts';
import type { Client } from './create-client.ts';
import { isStatus } from './errors.ts';
import type { Page } from './list-pages.ts';
import type { Cluster } from './types.ts';

type FirstAccount = Pick<Page<unknown>, 'items'> & { readonly metadata?: { readonly remainingItemCount?: number } };

/** What the checklist of a cluster is about, as far as the caller may know it. `cluster` is the public view. */
export async function usabilityFacts(client: Client, cluster: Cluster): Promise<UsabilityFacts> {
  const { name } = cluster.metadata;
  const path = `${clusterPrefix(client, name)}/api/v1/serviceaccounts`;
  const options = { query: { limit: 1 }, expects: 'items' } as const;
  const [list, reach] = await Promise.all([
    client.request<FirstAccount>('GET', path, options).catch(unknown),
    reviewResourceAccess(client, name, { reach: true }).catch(unknown),
  ]);
  const { items = [], metadata = {} } = list?.value ?? {};
  const accounts = list && items.length + (metadata.remainingItemCount ?? 0);
  return { cluster, accounts, subjects: reach && (reach.subjects ?? []) };
}

function unknown(error: unknown): undefined {
  if (!isStatus(error, 403)) throw error;
}
