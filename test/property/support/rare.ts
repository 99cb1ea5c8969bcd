import { person } from '../../../src/authz/rbac.fixture.ts';
import type { Deed, Looking, Scene } from './history.ts';
import { SELECTORS, type Selector } from './selectors.ts';

/** Histories that chance seldom makes, and that have a way to go wrong of their own. */

const U1: Looking = { caller: person('u1'), selector: SELECTORS[0] as Selector, alwaysPublic: true };

const cluster = (name: string, labels: Record<string, string> = {}): Deed => ({ deed: 'cluster', name, labels });
const version = (name: string, text: string): Deed => ({ deed: 'status', name, version: text });
const grant = (reach: string | undefined, role = 'r1'): Deed => ({
  deed: 'binding',
  name: 'b1',
  role,
  subjects: ['User:u1'],
  reach,
});
const revoke: Deed = { deed: 'delete', what: 'clusterRoleBindings', name: 'b1' };
const allow = (...verbs: string[]): Deed => ({
  deed: 'role',
  name: 'r1',
  rules: [{ verbs, apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] }],
});

const together = (...deeds: Deed[]): Scene => ({ scene: 'deeds', deeds, meanwhile: undefined });
const pages = (...between: Deed[]): Scene => ({
  scene: 'list',
  ...U1,
  limit: 1,
  version: 'newest',
  back: 0,
  between,
});
const watch = (stalled: boolean, bookmarks = true): Scene => ({
  scene: 'watch',
  ...U1,
  back: 'initial',
  bookmarks,
  stalled,
});
const drain: Scene = { scene: 'drain', which: 0 };

const FLEET = together(
  cluster('a', { env: 'dev' }),
  cluster('b'),
  cluster('c', { env: 'prod' }),
  cluster('d'),
  cluster('e', { env: 'dev' }),
  allow('list', 'watch'),
);

export const RARE: readonly { readonly name: string; readonly scenes: readonly Scene[]; readonly ballast?: number }[] =
  [
    // Both rules are such that no index helps and what is left is counted once and carried along.
    { name: 'more becomes visible between pages', scenes: [FLEET, together(grant('!env')), pages(grant(undefined))] },
    {
      name: 'less is visible from page to page',
      scenes: [FLEET, together(grant(undefined)), pages(grant('env!=prod'), grant('!env'))],
    },
    {
      name: 'the permission to list goes and comes back between pages',
      scenes: [FLEET, together(grant(undefined)), pages(allow('watch'), allow('list'))],
    },
    {
      name: 'a slow client loses some of what it has not read yet',
      scenes: [FLEET, together(grant(undefined)), watch(true), together(grant('!env')), drain],
      ballast: 130_000,
    },
    {
      name: 'a slow client loses everything and gets it back',
      scenes: [FLEET, together(grant(undefined)), watch(true), together(revoke), together(grant('env')), drain],
      ballast: 130_000,
    },
    {
      name: 'what a slow client is about to read is deleted and made again',
      scenes: [
        FLEET,
        together(grant('env')),
        watch(true, false),
        together({ deed: 'delete', what: 'clusters', name: 'e' }),
        together(cluster('e', { env: 'prod' }), revoke),
        together(grant('env=prod')),
        drain,
      ],
      ballast: 130_000,
    },
    {
      name: 'a grant is taken away in one breath with a change of what it showed',
      scenes: [
        FLEET,
        together(grant(undefined)),
        watch(false),
        together(version('a', 'v1'), revoke, version('a', 'v2'), version('b', 'v2'), cluster('c', { env: 'dev' })),
      ],
    },
    {
      name: 'a change of the rules that changes nothing comes in one breath with a new cluster and the end of the grant',
      scenes: [
        FLEET,
        together(grant('env!=other')),
        watch(false),
        together(grant(undefined), cluster('f'), revoke),
        together(grant(undefined)),
      ],
    },
    {
      name: 'a cluster moves in and out of reach in one breath with the rules',
      scenes: [
        FLEET,
        together(grant('env=dev')),
        watch(false),
        together(cluster('a', { env: 'prod' }), grant('env=prod'), cluster('c', { env: 'dev' }), version('a', 'v1')),
        together(grant('env=dev'), cluster('a', { env: 'dev' }), cluster('e', {})),
      ],
    },
  ];
