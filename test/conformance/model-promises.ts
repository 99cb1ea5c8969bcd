import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { propertyRuns } from '../../src/lib/property-runs.fixture.ts';
import type { Change, Revision, Store } from '../../src/storage/contract.ts';
import {
  create,
  failure,
  readable,
  readableChange,
  remove,
  type StoreUnderTest,
  update,
  watchUntil,
} from './harness.ts';

type Item = NonNullable<ReturnType<typeof readable>>;

const KEYS = ['/a/0', '/a/1', '/a/2', '/ab/0', '/a/sub/0'];
const step = fc.record({ key: fc.constantFrom(...KEYS), remove: fc.boolean(), value: fc.string({ maxLength: 20 }) });
const history = fc.array(step, { minLength: 1, maxLength: 40 });
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A model of a store: each state, and the change that led to it. */
class Model {
  readonly states: { revision: Revision; items: Map<string, Item> }[] = [];
  readonly changes: ReturnType<typeof readableChange>[] = [];

  get now(): Map<string, Item> {
    return this.states.at(-1)?.items ?? new Map();
  }

  put(revision: Revision, key: string, value: string): void {
    const item = { key, value, mod: revision, created: this.now.get(key)?.created ?? revision };
    this.states.push({ revision, items: new Map(this.now).set(key, item) });
    this.changes.push(item);
  }

  delete(revision: Revision, key: string): void {
    const items = new Map(this.now);
    items.delete(key);
    this.states.push({ revision, items });
    this.changes.push({ key, deleted: revision });
  }
}

async function play(store: Store, model: Model, steps: readonly Step[]): Promise<void> {
  for (const { key, remove: deletes, value } of steps) {
    const current = model.now.get(key);
    if (current === undefined) model.put(await create(store, key, value), key, value);
    else if (deletes) model.delete(await remove(store, key, current.mod), key);
    else model.put(await update(store, key, current.mod, value), key, value);
  }
}

async function expectStates(store: Store, model: Model, from: Revision): Promise<void> {
  for (const { revision, items } of model.states.filter((state) => state.revision >= from)) {
    for (const prefix of ['/a/', '/ab/', '/']) {
      const list = await store.list({ prefix, revision });
      const expected = [...items.values()].filter(({ key }) => key.startsWith(prefix));
      expect(list.items.map(readable)).toEqual(expected.toSorted((a, b) => (a.key < b.key ? -1 : 1)));
      expect(list.revision).toBe(revision);
    }
    const found = await Promise.all(KEYS.map((key) => store.get(key, revision)));
    expect(found.map(readable)).toEqual(KEYS.map((key) => items.get(key)));
  }
}

const changesAfter = (model: Model, after: Revision, prefix: string) =>
  model.changes.filter(
    (c) => (c !== undefined && 'deleted' in c ? c.deleted : (c?.mod ?? 0)) > after && c?.key.startsWith(prefix),
  );

async function expectWatches(store: Store, model: Model, from: Revision): Promise<void> {
  const last = model.states.at(-1)?.revision ?? 0;
  // Concurrently: etcd serves watches from the past only at an interval.
  const watches = model.states
    .filter((state) => state.revision >= from)
    .flatMap(({ revision }) => ['/a/', '/ab/', '/'].map((prefix) => ({ revision, prefix })));
  await Promise.all(
    watches.map(async ({ revision, prefix }) => {
      const seen: Change[] = await watchUntil(store, prefix, revision, last);
      expect(seen.map(readableChange)).toEqual(changesAfter(model, revision, prefix));
    }),
  );
}

export function modelPromises(engine: StoreUnderTest): void {
  const onFreshStore = async (test: (store: Store) => Promise<void>) => {
    const store = await engine.open();
    try {
      await test(store);
    } finally {
      await engine.destroy(store);
    }
  };

  describe('compared with a model, over random histories', () => {
    it.each([
      ['every past revision reads as it was', expectStates],
      ['a watch can start at every revision: ordered, complete, each change once', expectWatches],
    ])('%s', async (_, expectAll) => {
      await fc.assert(
        fc.asyncProperty(history, (steps) =>
          onFreshStore(async (store) => {
            const model = new Model();
            await play(store, model, steps);
            await expectAll(store, model, 0);
          }),
        ),
        propertyRuns(3, 60),
      );
    });

    it('a compaction at any revision keeps all states from there on, and none before', async () => {
      await fc.assert(
        fc.asyncProperty(history, history, fc.nat(), fc.nat(), (steps, more, first, second) =>
          onFreshStore(async (store) => {
            const model = new Model();
            await play(store, model, steps);
            const at = (n: number) => model.states[n % model.states.length]?.revision ?? 0;
            let oldest = at(first);
            await store.compact(oldest);
            await play(store, model, more);
            await expectStates(store, model, oldest);
            oldest = Math.max(oldest, at(second));
            await store.compact(oldest);
            await expectStates(store, model, oldest);
            await expectWatches(store, model, oldest);
            for (const { revision } of model.states.filter((state) => state.revision < oldest)) {
              expect(await failure(store.get('/a/0', revision))).toEqual({ code: 'compacted' });
            }
          }),
        ),
        propertyRuns(5, 100),
      );
    });
  });
}
