import { isStatus } from './errors.ts';
import type { Transport } from './transport.ts';
import type { ClusterList, ClusterSelection, ListOptions } from './types.ts';

export const FULL_CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';

export const clustersPath = (view: ClusterSelection['view']): string =>
  view === 'full' ? FULL_CLUSTERS : '/auth/v1/clusters';

export const DEFAULT_PAGE = 500;

const selectionQuery = ({ labelSelector, fieldSelector }: ClusterSelection): Record<string, string | undefined> => ({
  labelSelector,
  fieldSelector,
});

/** Page after page, all of them as of one moment. Throws a 410 StatusError when that moment is too long past. */
export async function* clusterPages(transport: Transport, options: ListOptions = {}): AsyncGenerator<ClusterList> {
  const { view, limit = DEFAULT_PAGE, signal } = options;
  let next = '';
  do {
    const query = { ...selectionQuery(options), limit, ...(next === '' ? {} : { continue: next }) };
    const { value } = await transport.request<ClusterList>('GET', clustersPath(view), {
      query,
      ...(signal === undefined ? {} : { signal }),
    });
    next = value.metadata.continue ?? '';
    yield value;
  } while (next !== '');
}

/** All pages as one list. If the pages go out of date on the way, it is asked for once more, in one piece. */
export async function listClusters(transport: Transport, options: ListOptions = {}): Promise<ClusterList> {
  try {
    return await joined(clusterPages(transport, options));
  } catch (error) {
    if (!isStatus(error, 410)) throw error;
    return joined(clusterPages(transport, { ...options, limit: 0 }));
  }
}

async function joined(pages: AsyncIterable<ClusterList>): Promise<ClusterList> {
  let list: ClusterList | undefined;
  for await (const page of pages) {
    if (list === undefined) {
      const { remainingItemCount: _, ...metadata } = page.metadata;
      list = { ...page, metadata: { ...metadata, continue: '' }, items: [...page.items] };
    } else list.items.push(...page.items);
  }
  if (list === undefined) throw new Error('a list has at least one page');
  return list;
}
