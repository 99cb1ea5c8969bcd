import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PathSet, pathMatches } from './rules.ts';

test('P-15: a PathSet matches when one of its patterns does', () => {
  const path = fc.string({ unit: fc.constantFrom('/', 'a', 'b', '*', '\u{1f600}', '\uffff'), maxLength: 6 });
  fc.assert(
    fc.property(fc.array(path), path, (patterns, asked) => {
      expect(new PathSet(patterns).matches(asked)).toBe(patterns.some((pattern) => pathMatches(pattern, asked)));
    }),
    { numRuns: 2_000 },
  );
});
