import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ClusterRow, rowOf, STATES } from './cluster-row.ts';
import type { RowChange } from './edit-rows.ts';
import { FleetSelection } from './fleet-selection.ts';
import { FleetTotals } from './fleet-totals.ts';
import { type FleetFilter, matcherFor, orderFor } from './select-rows.ts';

/** Worked in change by change, it must be what going through everything gives. */

const row = fc
  .record({
    // Two names that people count alike have one place each.
    name: fc.constantFrom('a-1', 'a-01', 'a-2', 'a-10', 'b', 'c', 'd', 'e', 'f', 'g'),
    status: fc.constantFrom('True', 'False', 'Unknown'),
    env: fc.constantFrom('', 'dev', 'prod'),
    key: fc.constantFrom('env', 'stage', 'other'),
    at: fc.constantFrom('2026-11-01T00:00:00Z', '2026-11-02T00:00:00Z', 'never'),
  })
  .map(({ name, status, env, key, at }) =>
    rowOf(
      {
        apiVersion: 'a/v1',
        kind: 'Cluster',
        metadata: { name, labels: env === '' ? {} : { [key]: env } },
        status: { conditions: [{ type: 'Ready', status, lastTransitionTime: at }] },
      },
      false,
    ),
  );

const filter: fc.Arbitrary<FleetFilter> = fc.record({
  search: fc.constantFrom('', 'a', 'env=', 'a prod'),
  state: fc.constantFrom(undefined, ...STATES),
  labels: fc.subarray(['env=dev', 'env=prod', 'stage=prod']),
  sort: fc.constantFrom('name', 'state', 'since', 'environment'),
  descending: fc.boolean(),
});

type Step =
  | { readonly put: readonly ClusterRow[] }
  | { readonly remove: string }
  | { readonly filter: FleetFilter }
  | { readonly many: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ put: fc.array(row, { minLength: 1, maxLength: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.constantFrom('a-1', 'a-10', 'b', 'c') }) },
  { weight: 2, arbitrary: fc.record({ filter }) },
  { weight: 1, arbitrary: fc.record({ many: fc.boolean() }) },
);

/** As a first ADDED of them all, or as many that come and go. */
const others = Array.from({ length: 250 }, (_, index) =>
  rowOf({ apiVersion: 'a/v1', kind: 'Cluster', metadata: { name: `z-${index}`, labels: { env: 'many' } } }, false),
);

it('is what going through all rows would give, after any changes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), filter, (steps, first) => {
      const model = new Map<string, ClusterRow>();
      const selection = new FleetSelection();
      const totals = new FleetTotals();
      let used = first;
      const change = (names: readonly (readonly [string, ClusterRow | undefined])[]): void => {
        const changes: RowChange[] = names.map(([name, after]) => {
          const before = model.get(name);
          if (after === undefined) model.delete(name);
          else model.set(name, after);
          return { before, after };
        });
        selection.change(changes);
        totals.change(changes);
      };
      for (const each of steps) {
        if ('put' in each) change([...new Map(each.put.map((one) => [one.name, one]))]);
        else if ('remove' in each) change([[each.remove, undefined]]);
        else if ('many' in each) change(others.map((one) => [one.name, each.many ? one : undefined]));
        else used = each.filter;
        const rows = [...model.values()];
        const found = rows.filter(matcherFor(used));
        const { rows: shown, counts } = selection.select(used);
        expect(selection.size).toBe(rows.length);
        expect(shown).toEqual(
          found.filter(({ state }) => used.state === undefined || state === used.state).sort(orderFor(used)),
        );
        for (const state of STATES) expect(counts[state]).toBe(found.filter((one) => one.state === state).length);
      }
      const rows = [...model.values()];
      const fresh = new FleetTotals();
      fresh.change(rows.map((after) => ({ before: undefined, after })));
      expect(totals.environments(9)).toEqual(fresh.environments(9));
      expect(totals.commonLabels(9)).toEqual(fresh.commonLabels(9));
    }),
    { numRuns: 150 },
  );
});

it('gives the same lists until something has changed, so that nothing is drawn for nothing', () => {
  const selection = new FleetSelection();
  const totals = new FleetTotals();
  const used: FleetFilter = { search: '', state: undefined, labels: [], sort: 'name', descending: false };
  const changes = others.map((after) => ({ before: undefined, after }));
  selection.change(changes);
  totals.change(changes);
  const [selected, labels, environments] = [selection.select(used), totals.commonLabels(5), totals.environments(5)];
  selection.change([]);
  const [before] = others;
  totals.change([{ before, after: before && { ...before, reason: 'Other' } }]);
  expect(selection.select(used)).toBe(selected);
  expect(totals.commonLabels(5)).toBe(labels);
  expect(totals.environments(5)).toBe(environments);
});
