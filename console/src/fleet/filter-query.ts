import { hrefOf } from '../router.ts';
import { READINESS } from './cluster-row.ts';
import { type FleetFilter, NO_FILTER, SORT_COLUMNS } from './fleet-filter.ts';

/** The table of clusters with a filter. */
export const clustersHref = (filter: Partial<FleetFilter>): string =>
  hrefOf({ page: 'fleet', query: queryOf({ ...NO_FILTER, ...filter }) });

/** The filter as a query of the URL. Defaults are left out. */
export function queryOf({ search, readiness, labels, sort, descending }: FleetFilter): string {
  const query = new URLSearchParams();
  if (search !== '') query.set('search', search);
  if (readiness !== undefined) query.set('readiness', readiness);
  for (const label of labels) query.append('label', label);
  if (sort !== NO_FILTER.sort) query.set('sort', sort);
  if (descending) query.set('order', 'descending');
  return query.toString();
}

/** People edit URLs: a value that does not exist counts as absent. */
export function filterOf(query: string): FleetFilter {
  const parameters = new URLSearchParams(query);
  const oneOf = <T extends string>(values: readonly T[], name: string): T | undefined =>
    values.find((value) => value === parameters.get(name));
  return {
    search: parameters.get('search') ?? '',
    readiness: oneOf(READINESS, 'readiness'),
    labels: [...new Set(parameters.getAll('label').filter((label) => label.indexOf('=') > 0))],
    sort: oneOf(SORT_COLUMNS, 'sort') ?? NO_FILTER.sort,
    descending: parameters.get('order') === 'descending',
  };
}
