import { listPages, readPages } from './list-pages.ts';
import type { Transport } from './transport.ts';
import type { ClusterList, ClusterSelection, ListOptions } from './types.ts';

export const FULL_CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';

export const clustersPath = (view: ClusterSelection['view']): string =>
  view === 'full' ? FULL_CLUSTERS : '/auth/v1/clusters';

export const clusterPages = (transport: Transport, options: ListOptions = {}): AsyncGenerator<ClusterList> =>
  listPages(transport, clustersPath(options.view), options);

export async function listClusters(transport: Transport, options: ListOptions = {}): Promise<ClusterList> {
  const pages = await readPages<ClusterList>(transport, clustersPath(options.view), options);
  const [first] = pages;
  if (first === undefined) throw new Error('a list has at least one page');
  const { remainingItemCount: _, ...metadata } = first.metadata;
  return { ...first, metadata: { ...metadata, continue: '' }, items: pages.flatMap(({ items }) => items) };
}
