import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../api/kind.ts';
import { NOTHING_UNCHANGED } from '../api/kind.ts';
import { clusterRoleBindingKind } from '../api/kinds/rbac.ts';
import { binding, type Extras } from '../authz/policy/rbac.fixture.ts';
import { validateObject } from './validate-object.ts';

const bound = (extras: Extras): ApiObject => binding('b', 'ClusterRole/r', ['User:jane'], extras);

/** The errors of a binding that is created, or that replaces another one. */
const errorsOf = (extras: Extras, old?: Extras): [string, string][] =>
  validateObject(clusterRoleBindingKind, bound(extras), {
    cluster: '',
    unchanged: NOTHING_UNCHANGED,
    ...(old && { old: bound(old) }),
  }).map(({ field, detail }) => [field, detail]);

describe('A48: the approval of a binding', () => {
  const NEEDS_AGENTS = [
    [
      'metadata.annotations[clusterpass.dev/approval]',
      'without the annotation "clusterpass.dev/agents": "allow" it changes nothing; for people too, use "review-always"',
    ],
  ];
  const agents = 'allow';

  it.each<Extras>([{ approval: 'confirm' }, { approval: 'review' }])('%j needs agents', (extras) => {
    expect(errorsOf(extras)).toEqual(NEEDS_AGENTS);
    expect(errorsOf(extras, {})).toEqual(NEEDS_AGENTS);
    expect(errorsOf(extras, { ...extras, agents })).toEqual(NEEDS_AGENTS);
    expect(errorsOf({ ...extras, agents })).toEqual([]);
    // A stored one does not block other changes of the binding.
    expect(errorsOf({ ...extras, clusters: 'env=dev' }, extras)).toEqual([]);
  });

  it('review-always is for every caller', () => {
    expect(errorsOf({ approval: 'review-always' })).toEqual([]);
  });
});
