import { expect, it } from 'vitest';
import { hrefOf, linkTo, parseRoute, type Route } from './router.ts';

it.each<Route>([
  { page: 'home' },
  { page: 'overview', query: '' },
  { page: 'fleet', query: '' },
  { page: 'fleet', query: 'search=a%26b&label=env%3Dprod&sort=version' },
  { page: 'cluster', name: 'prod-eu-1' },
  { page: 'cluster', name: 'a/b?c#d%' },
  { page: 'pass', name: 'pass_4e6xk2vqz7h3m5tcoywn2r4jdaglbuep' },
  { page: 'request', name: 'jane-x7k2p' },
  { page: 'can-i', query: 'cluster=a%26b&account=ci%2Fbuilder' },
  { page: 'passes', query: 'scope=all' },
  { page: 'audit', query: '' },
  { page: 'not-found', path: '/nowhere' },
])('parses its own link: %j', (route) => {
  expect(parseRoute(hrefOf(route))).toEqual(route);
});

it.each(['#/', '#/clusters', '#/clusters/'])('%j is the list of clusters', (hash) => {
  expect(parseRoute(hash)).toEqual({ page: 'fleet', query: '' });
});

it.each(['#/nowhere', '#/passes/a/b', '#/requests/a/b', '#/clusters/a/b', '#nowhere/x'])('%j is no page', (hash) => {
  expect(parseRoute(hash)).toEqual({ page: 'not-found', path: hash.slice(1) });
});

it('keeps a name with invalid percent-encoding as it is', () => {
  expect(parseRoute('#/clusters/%E0%A4%A')).toEqual({ page: 'cluster', name: '%E0%A4%A' });
});

it('links to a page with fields filled in', () => {
  expect(linkTo('audit', { pass: 'a b', cluster: '' })).toBe('#/audit?pass=a+b');
  expect(linkTo('keys')).toBe('#/keys');
});
