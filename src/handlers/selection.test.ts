import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCatalog } from '../api/catalog.ts';
import { kindPrefix } from '../api/kind.ts';
import type { VisibilityRule } from '../api/visibility.ts';
import { lonelyWork } from '../lib/work-queue.fixture.ts';
import type { Work } from '../lib/work-queue.ts';
import { parseFieldSelector } from '../objects/selectors/field-selector.ts';
import { parseLabelSelector } from '../objects/selectors/label-selector.ts';
import { StoredObject } from '../objects/stored-object.ts';
import { CacheState, indexText } from '../storage/snapshot.ts';
import { includes, type Page, type Selection, selectPage } from './selection.ts';

const { clusters } = createCatalog({ productName: 'orchestrator' });
const prefix = kindPrefix(clusters);

function cluster(name: string, labels: Record<string, string>): StoredObject {
  const value = Buffer.from(JSON.stringify({ apiVersion: 'x', kind: 'Cluster', metadata: { name, labels } }));
  return new StoredObject(clusters, { key: `${prefix}${name}`, value, modRevision: 1, createRevision: 1 });
}

/** A rule for names and for one label, with or without candidates. */
function rule(
  names: string[],
  label: [string, string] | undefined,
  isIndexed: boolean,
  admitsCandidates: boolean,
): VisibilityRule {
  const [key, value] = label ?? ['', ''];
  return {
    fingerprint: JSON.stringify([names, label]),
    all: false,
    none: false,
    admits: (name, labels) => names.includes(name) || (label !== undefined && labels?.[key] === value),
    candidates: isIndexed ? { names, labels: label === undefined ? [] : [{ key, value }] } : undefined,
    admitsCandidates,
  };
}

const NAMES = Array.from({ length: 12 }, (_, index) => `c${index}`);
const labels = fc.record(
  { a: fc.constantFrom('0', '1', ''), b: fc.constantFrom('0', '1') },
  { requiredKeys: [] },
) as fc.Arbitrary<Record<string, string>>;
const fleet = fc.array(fc.tuple(fc.constantFrom(...NAMES), labels)).map((rows) => new Map(rows));
const rules = fc.oneof(
  fc.constant(undefined),
  fc
    .tuple(
      fc.subarray(NAMES),
      fc.option(fc.constantFrom<[string, string]>(['a', '1'], ['b', '0']), { nil: undefined }),
      fc.boolean(),
      fc.boolean(),
    )
    .map(([names, label, isIndexed, isExact]) => rule(names, label, isIndexed, isExact)),
);
const labelSelectors = fc.constantFrom('', 'a', '!a', 'a=1', 'a=', 'a in (0,1),b=1', 'a!=1', 'b notin (0)', 'a=1,a=0');
const fieldSelectors = fc.constantFrom('', 'metadata.name=c3', 'metadata.name!=c3', 'metadata.name=absent');

/** The fields of an object that a selection reads. */
const LIKE = { name: 'x', field: () => '' };

describe('a selection', () => {
  it('L-36: is the same with and without an index, whole and page by page, with exact counts', async () => {
    await fc.assert(
      fc.asyncProperty(
        fleet,
        rules,
        labelSelectors,
        fieldSelectors,
        fc.integer({ min: 0, max: 5 }),
        fc.boolean(),
        async (rows, admitted, labelText, fieldText, limit, isIndexed) => {
          const snapshot = CacheState.empty<StoredObject>({ indexLabels: isIndexed });
          for (const [name, own] of rows) snapshot.replace(undefined, cluster(name, own));
          const selection: Selection = {
            prefix,
            namesAreUnique: true,
            labels: parseLabelSelector(labelText),
            fields: parseFieldSelector(fieldText),
            rule: admitted,
          };
          const expected = [...snapshot.scan(prefix)].filter((entry) => includes(selection, entry));
          const got: StoredObject[] = [];
          let left: number;
          do {
            const last = got.at(-1);
            const wanted = { limit, ...(last === undefined ? {} : { after: last.key }) };
            const page: Page<StoredObject> = await selectPage(snapshot, selection, wanted, lonelyWork());
            got.push(...page.items);
            left = page.remaining;
            expect(left).toBe(expected.length - got.length);
          } while (left > 0);
          expect(got).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  describe('of a large fleet', () => {
    const LARGE = 30_000;
    const snapshot = CacheState.empty<StoredObject>({ indexLabels: true });
    const keyOf = (index: number, ending = ''): string => `${prefix}c-${String(index).padStart(6, '0')}${ending}`;
    const put = (key: string, labels: Record<string, string>): void => {
      const entry = { ...LIKE, key, labels, indexed: Object.entries(labels).map(indexText) };
      snapshot.replace(undefined, entry as unknown as StoredObject);
    };
    for (let index = 0; index < LARGE; index++) {
      put(keyOf(index), { half: String(index % 2), all: 'yes', own: `n${index}` });
    }
    const selecting = (text: string): Selection => ({
      prefix,
      namesAreUnique: true,
      labels: parseLabelSelector(text),
      fields: parseFieldSelector(''),
      rule: undefined,
    });

    it.each([
      ['', LARGE, 0],
      ['own!=n7', LARGE - 1, 100],
      ['half in (0,1)', LARGE, 100],
      ['half=1,all=yes', LARGE / 2, 100],
      ['half=1,!nothing', LARGE / 2, 100],
    ])('A19: is searched in many ticks, in the state of its beginning (%s)', async (text, found, limit) => {
      let ticks = 0;
      const written = (tick: number): string => keyOf(LARGE - tick, 'x');
      const work = {
        isUsedUp: true,
        turn: async () => {
          ticks += 1;
          // A write between two ticks.
          put(written(ticks), { half: '1', all: 'yes' });
        },
      } as unknown as Work;
      const { items, remaining } = await selectPage(snapshot, selecting(text), { limit }, work);
      for (let index = 1; index <= ticks; index++) snapshot.replace(snapshot.get(written(index)), undefined);
      expect(items.length + remaining).toBe(found);
      expect(items.map(({ key }) => key)).toEqual(items.map(({ key }) => key).toSorted());
      expect(ticks).toBeGreaterThan(25);
    });
  });
});
