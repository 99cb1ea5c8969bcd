import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CacheEntry, CacheState, indexText } from './snapshot.ts';

const PREFIX = '/registry/things/';

/** `constructor` is a valid label, and a property that every object inherits. */
const LABELS = ['a', 'b', 'constructor'];

const entryOf = (name: string, revision: number, labels?: Record<string, string>): CacheEntry => ({
  key: `${PREFIX}${name}`,
  revision,
  indexed: Object.entries(labels ?? {}).map(indexText),
  bytes: 0,
});

const labels = fc.option(fc.dictionary(fc.constantFrom(...LABELS), fc.constantFrom('', '1', '2'), { maxKeys: 3 }), {
  nil: undefined,
});

/** A put with these labels, or a deletion. */
const step = fc.record({
  name: fc.integer({ min: 0, max: 60 }).map((n) => `n${n}`),
  put: fc.boolean(),
  labels,
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** The same state as a map, sorted on demand. */
class Model {
  readonly entries = new Map<string, CacheEntry>();

  apply(snapshot: CacheState<CacheEntry>, { name, put, labels: carried }: Step, revision: number): void {
    const entry = put ? entryOf(name, revision, carried) : undefined;
    const key = `${PREFIX}${name}`;
    snapshot.replace(snapshot.get(key), entry);
    if (entry === undefined) this.entries.delete(key);
    else this.entries.set(key, entry);
  }

  sorted(): CacheEntry[] {
    return [...this.entries.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }
}

function expectSame(snapshot: CacheState<CacheEntry>, expected: readonly CacheEntry[]): void {
  expect([...snapshot.scan(PREFIX)]).toEqual(expected);
  expect(snapshot.size).toBe(expected.length);
  expect(snapshot.count(PREFIX)).toBe(expected.length);
  for (const entry of expected) expect(snapshot.get(entry.key)).toBe(entry);
  for (const label of LABELS) {
    for (const value of ['', '1', '2']) {
      const carriers = expected.filter((entry) => entry.indexed.includes(indexText([label, value])));
      expect([...snapshot.withLabel(label, value)]).toEqual(carriers);
    }
  }
}

const empty = (): CacheState<CacheEntry> => CacheState.empty({ indexLabels: true });

describe('CacheState', () => {
  it('is in key order, and its label index equals a scan, after any changes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const snapshot = empty();
        const model = new Model();
        for (const [revision, each] of steps.entries()) model.apply(snapshot, each, revision);
        expectSame(snapshot, model.sorted());
      }),
      { numRuns: 50 },
    );
  });

  it('a copy and its original do not affect each other', () => {
    const phase = fc.array(step, { maxLength: 80 });
    fc.assert(
      fc.property(phase, phase, phase, (first, onOriginal, onCopy) => {
        const original = empty();
        const model = new Model();
        for (const [revision, each] of first.entries()) model.apply(original, each, revision);
        const then = model.sorted();

        const copy = original.copy();
        const copied = new Model();
        for (const entry of then) copied.entries.set(entry.key, entry);
        const untouched = original.copy();
        for (const [index, each] of onOriginal.entries()) model.apply(original, each, 1_000 + index);
        expectSame(copy, then);
        for (const [index, each] of onCopy.entries()) copied.apply(copy, each, 2_000 + index);

        expectSame(original, model.sorted());
        expectSame(copy, copied.sorted());
        expectSame(untouched, then);
      }),
      { numRuns: 50 },
    );
  });

  it('a scan of cluster a does not include ab, a-b or a.b', () => {
    const snapshot = CacheState.empty<CacheEntry>({ indexLabels: false });
    const keys = ['/registry/pods/a/x', '/registry/pods/a-b/x', '/registry/pods/a.b/x', '/registry/pods/ab/x'];
    for (const key of keys) snapshot.replace(undefined, { key, revision: 1, indexed: [], bytes: 0 });
    expect([...snapshot.scan('/registry/pods/a/')].map(({ key }) => key)).toEqual(['/registry/pods/a/x']);
    expect(snapshot.count('/registry/pods/a/')).toBe(1);
    expect(snapshot.count('/registry/pods/')).toBe(4);
    expect(snapshot.count('/registry/pods/b/')).toBe(0);
  });
});
