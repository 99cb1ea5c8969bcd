import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import type { ApiRequest } from '../../api/request.ts';
import { ALL_VISIBLE, NONE_VISIBLE, type TimeSpan, type VisibilityRule } from '../../api/visibility.ts';
import { parseListOptions } from '../options/list-options.ts';
import type { Views } from '../views.ts';
import { createWatchViews, type WatchViews } from './watch-view.ts';

const { clusters } = createCatalog({ productName: 'orchestrator' });

interface Policy {
  rule: VisibilityRule;
  whole: VisibilityRule;
  span?: TimeSpan;
}

let lastWatchId = 0;

function viewsOf(policy: Policy, query = 'watch=1', as: ApiRequest['accept']['as'] = 'object'): WatchViews {
  const views = {
    // A new object at each call: only the fingerprint identifies a rule.
    rule: () => ({ ...policy.rule }),
    whole: () => ({ ...policy.whole }),
    spanOf: () => policy.span ?? { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY },
    now: () => 0,
  } as unknown as Views;
  const request = {
    caller: {},
    target: { verb: 'watch', cluster: undefined, namespace: '', name: '', alwaysPublic: false },
    accept: { as },
    query: new URLSearchParams(query),
  } as unknown as ApiRequest;
  const parts = { views, watchId: ++lastWatchId };
  return createWatchViews(parts, request, clusters, parseListOptions(new URLSearchParams(query)));
}

const policy = (): Policy => ({ rule: ALL_VISIBLE, whole: NONE_VISIBLE });
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

describe('the view of a watch', () => {
  it('is steady while no permission of its caller ends, and for a second more', () => {
    const { isSteady } = viewsOf({ ...policy(), span: { from: 5_000, until: 10_000 } });
    expect([4_999, 5_000, 10_999, 11_000].map(isSteady)).toEqual([false, true, true, false]);
  });
});
