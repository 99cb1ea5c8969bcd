import { expect, it } from 'vitest';
import { hrefOf, parseRoute, type Route } from './router.ts';

it.each<Route>([
  { page: 'fleet' },
  { page: 'cluster', name: 'prod-eu-1' },
  { page: 'cluster', name: 'a/b?c#d%' },
  { page: 'can-i', cluster: '', account: '' },
  { page: 'can-i', cluster: 'a&b', account: 'ci/builder' },
])('parses its own link: %j', (route) => {
  expect(parseRoute(hrefOf(route))).toEqual(route);
});

it.each(['', '#', '#/', '#/nowhere', '#/clusters', '#/clusters/'])('%j is the list of clusters', (hash) => {
  expect(parseRoute(hash)).toEqual({ page: 'fleet' });
});

it('keeps a name with invalid percent-encoding as it is', () => {
  expect(parseRoute('#/clusters/%E0%A4%A')).toEqual({ page: 'cluster', name: '%E0%A4%A' });
});
