import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import type { ApiRequest } from '../../api/request.ts';
import { ApiError } from '../../api/status.ts';
import { ALL_VISIBLE, atRevision, NONE_VISIBLE, type VisibilityRule } from '../../api/visibility.ts';
import { parseListOptions } from '../options/list-options.ts';
import type { Views } from '../views.ts';
import { createWatchViews, type WatchViews } from './watch-view.ts';

const { clusters } = createCatalog({ productName: 'orchestrator' });

interface Policy {
  rule: VisibilityRule;
  whole: VisibilityRule;
  changes: readonly number[] | undefined;
}

let lastWatchId = 0;

function viewsOf(policy: Policy, query = 'watch=1', as: ApiRequest['accept']['as'] = 'object'): WatchViews {
  const views = {
    // A new object at each call: only the fingerprint identifies a rule.
    rule: () => ({ ...policy.rule }),
    ruleAt: () => ({ ...policy.rule }),
    whole: () => ({ ...policy.whole }),
    changedAt: () => atRevision(100),
    now: () => 0,
  } as unknown as Views;
  const request = {
    caller: {},
    target: { verb: 'watch', cluster: undefined, namespace: '', name: '', alwaysPublic: false },
    accept: { as },
    query: new URLSearchParams(query),
  } as unknown as ApiRequest;
  const parts = {
    views,
    policyChangesBetween: () => policy.changes?.map(atRevision),
    isRefusedBetween: () => false,
    watchId: ++lastWatchId,
  };
  return createWatchViews(parts, request, clusters, parseListOptions(new URLSearchParams(query)));
}

const policy = (): Policy => ({ rule: ALL_VISIBLE, whole: NONE_VISIBLE, changes: [] });
const groupOf = (...of: Parameters<typeof viewsOf>): string => viewsOf(...of).current().groupId;

describe('the group of a watch', () => {
  it('is that of other watches with equal rules, selectors and form', () => {
    expect(groupOf(policy())).toBe(groupOf(policy()));
    expect(groupOf(policy(), 'watch=1&labelSelector=a%3Db')).toBe(groupOf(policy(), 'labelSelector=a%3Db&watch=true'));
    const all = [
      groupOf(policy()),
      groupOf({ ...policy(), rule: NONE_VISIBLE }),
      groupOf({ ...policy(), whole: ALL_VISIBLE }),
      groupOf(policy(), 'watch=1&labelSelector=a%3Db'),
      groupOf(policy(), 'watch=1&fieldSelector=metadata.name%3Db'),
      groupOf(policy(), 'watch=1', 'partial-object-metadata'),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it('is its own for a table, whose first event names the columns', () => {
    expect(groupOf(policy(), 'watch=1', 'table')).not.toBe(groupOf(policy(), 'watch=1', 'table'));
    const views = viewsOf(policy(), 'watch=1', 'table');
    expect(views.current().groupId).toBe(views.current().groupId);
  });

  it('changes with the rules of the caller, and only with them', () => {
    const changing = policy();
    const views = viewsOf(changing);
    const before = views.current();
    expect(views.current().groupId).toBe(before.groupId);
    changing.rule = NONE_VISIBLE;
    expect(views.current().groupId).not.toBe(before.groupId);
    expect(views.current().selection.rule?.none).toBe(true);
    changing.rule = ALL_VISIBLE;
    expect(views.current().groupId).toBe(before.groupId);
  });
});

describe('the intervals of a watch', () => {
  it('begin at its resource version, and at each policy change after it', () => {
    const { intervals } = viewsOf({ ...policy(), changes: [12, 15] });
    expect(intervals(10, 20).map((interval) => interval.from.revision)).toEqual([10, 12, 15]);
    expect(intervals(100, 120).map((interval) => interval.from.revision)).toEqual([100]);
  });

  it.each([
    ['too many', Array.from({ length: 9 }, (_, index) => 11 + index)],
    ['forgotten', undefined],
  ])('V-10: are gone when they are %s', (_, changes) => {
    const { intervals } = viewsOf({ ...policy(), changes });
    expect(() => intervals(10, 20)).toThrow(ApiError);
  });
});
