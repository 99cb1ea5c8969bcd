import { isStatus } from './errors.ts';
import type { Transport } from './transport.ts';
import type { ClusterList, ClusterSelection, ListOptions } from './types.ts';

export const FULL_CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';

export const clustersPath = (view: ClusterSelection['view']): string =>
  view === 'full' ? FULL_CLUSTERS : '/auth/v1/clusters';

const DEFAULT_LIMIT = 500;

interface Page<T> {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly T[];
}

export interface PageOptions {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** All pages of a list, at one resourceVersion. Throws a 410 StatusError if the server no longer has that version. */
export async function* listPages<P extends Page<unknown>>(
  transport: Transport,
  path: string,
  { labelSelector, fieldSelector, limit = DEFAULT_LIMIT, signal }: PageOptions,
): AsyncGenerator<P> {
  let next = '';
  do {
    const query = { labelSelector, fieldSelector, limit, ...(next === '' ? {} : { continue: next }) };
    const { value } = await transport.request<P>('GET', path, { query, ...(signal === undefined ? {} : { signal }) });
    next = value.metadata.continue ?? '';
    yield value;
  } while (next !== '');
}

/** All pages in an array. After a 410, requests the list again as one page. */
export async function readPages<P extends Page<unknown>>(
  transport: Transport,
  path: string,
  options: PageOptions,
): Promise<P[]> {
  const read = async (limit: number | undefined): Promise<P[]> => {
    const pages: P[] = [];
    for await (const page of listPages<P>(transport, path, { ...options, limit })) pages.push(page);
    return pages;
  };
  try {
    return await read(options.limit);
  } catch (error) {
    if (!isStatus(error, 410)) throw error;
    return read(0);
  }
}

export const clusterPages = (transport: Transport, options: ListOptions = {}): AsyncGenerator<ClusterList> =>
  listPages(transport, clustersPath(options.view), options);

export async function listClusters(transport: Transport, options: ListOptions = {}): Promise<ClusterList> {
  const pages = await readPages<ClusterList>(transport, clustersPath(options.view), options);
  const [first] = pages;
  if (first === undefined) throw new Error('a list has at least one page');
  const { remainingItemCount: _, ...metadata } = first.metadata;
  return { ...first, metadata: { ...metadata, continue: '' }, items: pages.flatMap(({ items }) => items) };
}
