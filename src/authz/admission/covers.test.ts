import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ANY, pathMatches, type Rule } from '../policy/rules.ts';
import { coverageOf } from './covers.ts';

const words = (...list: string[]) => fc.uniqueArray(fc.constantFrom(...list), { maxLength: 3 });
const resourceRule: fc.Arbitrary<Rule> = fc.record({
  verbs: words('get', 'list', ANY),
  apiGroups: words('', 'g', ANY),
  resources: words('a', 'b', 'a/s', '*/s', ANY),
  resourceNames: words('n', 'm', ''),
  nonResourceURLs: fc.constant([]),
});
const pathRule: fc.Arbitrary<Rule> = fc.record({
  verbs: words('get', 'list', ANY),
  apiGroups: fc.constant([]),
  resources: fc.constant([]),
  resourceNames: words('n'),
  nonResourceURLs: words('/a', '/a/*', '/a/b', ANY),
});
const rules = fc.array(fc.oneof(resourceRule, pathRule), { maxLength: 5 });

const has = (held: readonly string[], word: string): boolean => held.includes(ANY) || held.includes(word);

/** Kubernetes' comparison of one part with one rule. */
function covers(held: Rule, part: Rule): boolean {
  const isResource = (resource: string): boolean =>
    has(held.resources, resource) || (resource.includes('/') && held.resources.includes(`*/${resource.split('/')[1]}`));
  const isNamed = held.resourceNames.length > 0;
  return (
    part.verbs.every((verb) => has(held.verbs, verb)) &&
    part.apiGroups.every((group) => has(held.apiGroups, group)) &&
    part.resources.every(isResource) &&
    part.nonResourceURLs.every((path) => held.nonResourceURLs.some((pattern) => pathMatches(pattern, path))) &&
    (!isNamed ||
      (part.resourceNames.length > 0 && part.resourceNames.every((name) => held.resourceNames.includes(name))))
  );
}

test('what is missing is what no held rule covers, part by part', () => {
  fc.assert(
    fc.property(rules, rules, (held, wanted) => {
      // Compared with nothing, everything is missing: all parts.
      const parts = coverageOf([], wanted).missing;
      const { missing, tooMany } = coverageOf(held, wanted);
      expect(tooMany).toBe(false);
      expect(missing).toEqual(parts.filter((part) => !held.some((rule) => covers(rule, part))));
    }),
    { numRuns: 1_500 },
  );
});
