import { expect, it } from 'vitest';
import { hrefOf, parseRoute, type Route } from './router.ts';

it.each<Route>([
  { page: 'fleet' },
  { page: 'cluster', name: 'prod-eu-1' },
  { page: 'cluster', name: 'a/b?c#d%' },
  { page: 'why', cluster: '', account: '' },
  { page: 'why', cluster: 'a&b', account: 'ci/builder' },
])('an address leads back to where it is from: %j', (route) => {
  expect(parseRoute(hrefOf(route))).toEqual(route);
});

it.each(['', '#', '#/', '#/nowhere', '#/clusters', '#/clusters/'])('%j is the fleet', (hash) => {
  expect(parseRoute(hash)).toEqual({ page: 'fleet' });
});

it('what is not well-formed is taken as it is', () => {
  expect(parseRoute('#/clusters/%E0%A4%A')).toEqual({ page: 'cluster', name: '%E0%A4%A' });
});
