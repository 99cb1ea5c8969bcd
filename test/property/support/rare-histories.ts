import { person } from '../../../src/authz/policy/rbac.fixture.ts';
import type { Mutation, Step, Viewer } from './history.ts';
import { SELECTORS, type Selector } from './selectors.ts';

/** Histories that random generation seldom produces, each with its own failure mode. */

const U1: Viewer = { caller: person('u1'), selector: SELECTORS[0] as Selector, alwaysPublic: true };

const cluster = (name: string, labels: Record<string, string> = {}): Mutation => ({
  mutation: 'cluster',
  name,
  labels,
});
const version = (name: string, text: string): Mutation => ({ mutation: 'status', name, version: text });
const grant = (reach: string | undefined, role = 'r1'): Mutation => ({
  mutation: 'binding',
  name: 'b1',
  role,
  subjects: ['User:u1'],
  reach,
});
const revoke: Mutation = { mutation: 'delete', what: 'fleetRoleBindings', name: 'b1' };
const allow = (...verbs: string[]): Mutation => ({
  mutation: 'role',
  name: 'r1',
  rules: [{ verbs, apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] }],
});

const batch = (...mutations: Mutation[]): Step => ({ step: 'mutations', mutations, concurrentList: undefined });
const pages = (...between: Mutation[]): Step => ({
  step: 'list',
  ...U1,
  limit: 1,
  version: 'newest',
  back: 0,
  between,
});
const watch = (stalled: boolean, bookmarks = true): Step => ({
  step: 'watch',
  ...U1,
  back: 'initial',
  bookmarks,
  stalled,
});
/** The whole list of the revision that is so many after the first. */
const exactly = (back: number): Step => ({ step: 'list', ...U1, limit: 0, version: 'exact', back, between: [] });
const drain: Step = { step: 'drain', which: 0 };

const FLEET = batch(
  cluster('a', { env: 'dev' }),
  cluster('b'),
  cluster('c', { env: 'prod' }),
  cluster('d'),
  cluster('e', { env: 'dev' }),
  allow('list', 'watch'),
);

export const RARE_HISTORIES: readonly {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly ballast?: number;
}[] = [
  // With both rules no index applies, and the remaining items are counted once for all pages.
  { name: 'more becomes visible between pages', steps: [FLEET, batch(grant('!env')), pages(grant(undefined))] },
  {
    name: 'less is visible from page to page',
    steps: [FLEET, batch(grant(undefined)), pages(grant('env!=prod'), grant('!env'))],
  },
  {
    name: 'the permission to list goes and comes back between pages',
    steps: [FLEET, batch(grant(undefined)), pages(allow('watch'), allow('list'))],
  },
  {
    name: 'a past revision is listed that is older than the grant',
    steps: [
      FLEET,
      batch(version('a', 'v1')),
      batch(version('a', 'v2')),
      batch(grant(undefined)),
      ...[1, 3, 5, 7, 8].map(exactly),
      batch(revoke),
      batch(version('b', 'v1')),
      batch(grant('!env')),
      ...[7, 8, 9, 10, 11].map(exactly),
    ],
  },
  {
    name: 'a slow client loses access to some clusters that it has not read yet',
    steps: [FLEET, batch(grant(undefined)), watch(true), batch(grant('!env')), drain],
    ballast: 130_000,
  },
  {
    name: 'a slow client loses all access and gets it back',
    steps: [FLEET, batch(grant(undefined)), watch(true), batch(revoke), batch(grant('env')), drain],
    ballast: 130_000,
  },
  {
    name: 'a cluster that a slow client is about to read is deleted and created again',
    steps: [
      FLEET,
      batch(grant('env')),
      watch(true, false),
      batch({ mutation: 'delete', what: 'clusters', name: 'e' }),
      batch(cluster('e', { env: 'prod' }), revoke),
      batch(grant('env=prod')),
      drain,
    ],
    ballast: 130_000,
  },
  {
    name: 'a grant is revoked in one batch with changes of what it showed',
    steps: [
      FLEET,
      batch(grant(undefined)),
      watch(false),
      batch(version('a', 'v1'), revoke, version('a', 'v2'), version('b', 'v2'), cluster('c', { env: 'dev' })),
    ],
  },
  {
    name: 'a rule change without effect, a new cluster and a revocation come in one batch',
    steps: [
      FLEET,
      batch(grant('env!=other')),
      watch(false),
      batch(grant(undefined), cluster('f'), revoke),
      batch(grant(undefined)),
    ],
  },
  {
    name: 'a cluster moves in and out of reach in one batch with the rules',
    steps: [
      FLEET,
      batch(grant('env=dev')),
      watch(false),
      batch(cluster('a', { env: 'prod' }), grant('env=prod'), cluster('c', { env: 'dev' }), version('a', 'v1')),
      batch(grant('env=dev'), cluster('a', { env: 'dev' }), cluster('e', {})),
    ],
  },
];
