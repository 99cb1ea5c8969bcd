import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ClusterRow, READINESS, rowOf } from './cluster-row.ts';
import { FilteredRows, type RowChange } from './filtered-rows.ts';
import { type FleetFilter, matcherFor, orderFor } from './fleet-filter.ts';
import { FleetTotals } from './fleet-totals.ts';

const row = fc
  .record({
    // a-1 and a-01 have the same sort key.
    name: fc.constantFrom('a-1', 'a-01', 'a-2', 'a-10', 'b', 'c', 'd', 'e', 'f', 'g'),
    status: fc.constantFrom('True', 'False', 'Unknown'),
    env: fc.constantFrom('', 'dev', 'prod'),
    key: fc.constantFrom('env', 'stage', 'other'),
    at: fc.constantFrom('2026-11-01T00:00:00Z', '2026-11-02T00:00:00Z', 'never'),
  })
  .map(({ name, status, env, key, at }) =>
    rowOf({
      apiVersion: 'a/v1',
      kind: 'Cluster',
      metadata: { name, labels: env === '' ? {} : { [key]: env } },
      status: { conditions: [{ type: 'Ready', status, lastTransitionTime: at }] },
    }),
  );

const filter: fc.Arbitrary<FleetFilter> = fc.record({
  search: fc.constantFrom('', 'a', 'env=', 'a prod'),
  readiness: fc.constantFrom(undefined, ...READINESS),
  labels: fc.subarray(['env=dev', 'env=prod', 'stage=prod']),
  sort: fc.constantFrom('name', 'readiness', 'since', 'environment'),
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

/** Enough rows for the initial sync of a fleet, or for its removal. */
const others = Array.from({ length: 250 }, (_, index) =>
  rowOf({ apiVersion: 'a/v1', kind: 'Cluster', metadata: { name: `z-${index}`, labels: { env: 'many' } } }),
);

it('equals filtering, sorting and counting all rows, after any sequence of changes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), filter, (steps, first) => {
      const model = new Map<string, ClusterRow>();
      const filtered = new FilteredRows();
      const totals = new FleetTotals();
      let used = first;
      const change = (names: readonly (readonly [string, ClusterRow | undefined])[]): void => {
        const changes: RowChange[] = names.map(([name, after]) => {
          const before = model.get(name);
          if (after === undefined) model.delete(name);
          else model.set(name, after);
          return { before, after };
        });
        filtered.change(changes);
        totals.change(changes);
      };
      for (const each of steps) {
        if ('put' in each) change([...new Map(each.put.map((one) => [one.name, one]))]);
        else if ('remove' in each) change([[each.remove, undefined]]);
        else if ('many' in each) change(others.map((one) => [one.name, each.many ? one : undefined]));
        else used = each.filter;
        const rows = [...model.values()];
        const matching = rows.filter(matcherFor(used));
        const { rows: shown, counts } = filtered.select(used);
        expect(shown).toEqual(
          matching
            .filter(({ readiness }) => used.readiness === undefined || readiness === used.readiness)
            .sort(orderFor(used)),
        );
        for (const readiness of READINESS) {
          expect(counts[readiness]).toBe(matching.filter((one) => one.readiness === readiness).length);
        }
      }
      const rows = [...model.values()];
      const recounted = new FleetTotals();
      recounted.change(rows.map((after) => ({ before: undefined, after })));
      expect(totals.environments(9)).toEqual(recounted.environments(9));
      expect(totals.commonLabels(9)).toEqual(recounted.commonLabels(9));
    }),
    { numRuns: 150 },
  );
});
