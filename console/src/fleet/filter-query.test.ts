import fc from 'fast-check';
import { expect, it } from 'vitest';
import { READINESS } from './cluster-row.ts';
import { filterOf, queryOf } from './filter-query.ts';
import { NO_FILTER, SORT_COLUMNS } from './fleet-filter.ts';

it('reads every filter that it writes', () => {
  const label = fc
    .tuple(fc.string({ minLength: 1 }), fc.string())
    .map(([key, value]) => `${key.replaceAll('=', '')}k=${value}`);
  const filter = fc.record({
    search: fc.string(),
    readiness: fc.constantFrom(undefined, ...READINESS),
    labels: fc.uniqueArray(label),
    sort: fc.constantFrom(...SORT_COLUMNS),
    descending: fc.boolean(),
  });
  fc.assert(
    fc.property(filter, (each) => {
      expect(filterOf(queryOf(each))).toEqual(each);
    }),
  );
});

it('writes nothing for the defaults, and reads what it does not know as the defaults', () => {
  expect(queryOf(NO_FILTER)).toBe('');
  expect(filterOf('readiness=great&sort=shoe-size&order=up&label=env&label=%3Dprod&other=1')).toEqual(NO_FILTER);
});
