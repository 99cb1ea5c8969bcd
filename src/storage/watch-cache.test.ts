import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change, KeyValue } from './contract.ts';
import { HistoryBudget } from './history-budget.ts';
import { type CacheEntry, indexText } from './snapshot.ts';
import { type CacheEvent, WatchCache } from './watch-cache.ts';

const PREFIX = '/registry/things/';

interface Thing extends CacheEntry {
  readonly text: string;
}

function project({ key, value, modRevision }: KeyValue): Thing {
  const text = Buffer.from(value).toString();
  if (text === 'damaged') throw new SyntaxError('damaged');
  return { key, revision: modRevision, indexed: [indexText(['text', text])], bytes: text.length, text };
}

const newCache = (windowSize?: number, budget?: HistoryBudget): WatchCache<Thing> =>
  new WatchCache<Thing>({
    prefix: PREFIX,
    project,
    indexLabels: true,
    ...(windowSize === undefined ? {} : { windowSize }),
    budget,
  });

const stored = (name: string, revision: number, text: string): KeyValue => ({
  key: `${PREFIX}${name}`,
  value: Buffer.from(text),
  modRevision: revision,
  createRevision: revision,
});

const put = (name: string, revision: number, text: string): Change => ({
  type: 'put',
  ...stored(name, revision, text),
});
const del = (name: string, revision: number): Change => ({
  type: 'delete',
  key: `${PREFIX}${name}`,
  modRevision: revision,
});

const brief = ({ key, revision, text }: Thing): string => `${key.slice(PREFIX.length)}@${revision}=${text}`;

/** All states and events, as arrays. */
class Model {
  /** By revision. A revision without an event of this kind has the state of the previous one. */
  readonly states: string[][] = [[]];
  readonly events: { revision: number; before: string | undefined; after: string | undefined }[] = [];
  readonly #now = new Map<string, string>();

  apply(change: Change): void {
    const { key, modRevision } = change;
    const before = this.#now.get(key);
    if (change.type === 'put') this.#now.set(key, brief(project(change)));
    else this.#now.delete(key);
    this.events.push({ revision: modRevision, before, after: this.#now.get(key) });
    this.advance(modRevision - 1);
    this.states[modRevision] = [...this.#now].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  }

  advance(revision: number): void {
    while (this.states.length <= revision) this.states.push(this.states.at(-1) ?? []);
  }
}

const stateAt = (cache: WatchCache<Thing>, revision: number): string[] | undefined => {
  const snapshot = cache.at(revision);
  return snapshot && [...snapshot.scan(PREFIX)].map(brief);
};

const eventTexts = (events: readonly CacheEvent<Thing>[] | undefined) =>
  events?.map(({ revision, before, after }) => ({
    revision,
    before: before && brief(before),
    after: after && brief(after),
  }));

const NAMES = ['a', 'b', 'c', 'd', 'e'];

/** A change of one of a few objects, after some revisions of other kinds. */
const step = fc.record({
  skip: fc.nat({ max: 3 }),
  name: fc.constantFrom(...NAMES),
  action: fc.constantFrom('put', 'put', 'delete'),
  afterwards: fc.constantFrom('nothing', 'nothing', 'pin', 'read'),
  where: fc.nat(),
});

describe('WatchCache', () => {
  it.each([
    ...[0, 1, 3, 10, 1_000].map((windowSize) => [windowSize, 1_000_000]),
    ...[0, 1, 10, 50].map((maxBytes) => [1_000, maxBytes]),
  ] as [number, number][])(
    'with a window of %i events and %i bytes has every state and event of the window, and none before',
    (windowSize, maxBytes) => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 60 }), fc.nat({ max: 20 }), (steps, base) => {
          const budget = new HistoryBudget(maxBytes);
          const cache = newCache(windowSize, budget);
          cache.refill().finish(base);
          const model = new Model();
          model.advance(base);
          let revision = base;
          for (const { skip, name, action, afterwards, where } of steps) {
            revision += 1 + skip;
            const change = action === 'put' ? put(name, revision, `v${revision}`) : del(name, revision);
            cache.apply(change);
            model.apply(change);
            expect(budget.bytes).toBeLessThanOrEqual(maxBytes);
            for (const each of NAMES) expect(cache.get(`${PREFIX}${each}`)).toBe(cache.current.get(`${PREFIX}${each}`));
            // A pinned state must equal one that is built on demand.
            if (afterwards === 'pin') cache.pin();
            if (afterwards === 'read') stateAt(cache, where % (revision + 1));
          }
          model.advance(revision + 5);
          expect(cache.windowStart).toBeGreaterThanOrEqual(base);
          expect(cache.lastEventRevision).toBe(steps.length === 0 ? base : revision);
          for (let at = 0; at <= revision + 5; at++) {
            const expected = at < cache.windowStart ? undefined : model.states[at];
            expect(stateAt(cache, at)).toEqual(expected);
            const later = at < cache.windowStart ? undefined : model.events.filter((event) => event.revision > at);
            expect(eventTexts(cache.eventsAfter(at))).toEqual(later);
          }
        }),
        { numRuns: 60 },
      );
    },
  );

  it('has the states at checkpoints and between them', () => {
    const cache = newCache(10_000);
    const model = new Model();
    for (let revision = 1; revision <= 2_600; revision++) {
      const name = `n${(revision * 7) % 50}`;
      const change = revision % 5 === 0 ? del(name, revision) : put(name, revision, `v${revision}`);
      cache.apply(change);
      model.apply(change);
    }
    const far = Array.from({ length: 60 }, (_, index) => (index * 997) % 2_600);
    for (const at of [0, 1, 499, 500, 501, 749, 750, 751, 999, 1_000, 2_499, 2_500, 2_600, ...far]) {
      expect(stateAt(cache, at)).toEqual(model.states[at]);
    }
  });

  it('keeps a pinned state until its revision leaves the window', () => {
    const cache = newCache(4);
    cache.apply(put('a', 1, 'x'));
    cache.pin();
    const pinned = cache.at(1);
    for (let revision = 2; cache.windowStart < 1; revision++) {
      cache.apply(put('a', revision, 'x'));
      expect(cache.at(1)).toBe(pinned);
    }
    expect(cache.windowStart).toBe(1);
    expect(cache.at(1)).toBe(pinned);
    while (cache.windowStart === 1) cache.apply(put('a', cache.lastEventRevision + 1, 'x'));
    expect(cache.at(1)).toBeUndefined();
  });

  it('serves the old state until a refill is finished, and then only the new one', () => {
    const cache = newCache();
    cache.apply(put('a', 1, 'old'));
    cache.apply(put('b', 2, 'old'));
    cache.pin();
    const refill = cache.refill();
    refill.add(stored('c', 7, 'new'));
    expect(stateAt(cache, 2)).toEqual(['a@1=old', 'b@2=old']);
    refill.finish(9);
    expect(cache.windowStart).toBe(9);
    expect(cache.lastEventRevision).toBe(9);
    expect(cache.at(8)).toBeUndefined();
    expect(cache.eventsAfter(8)).toBeUndefined();
    expect(cache.eventsAfter(9)).toEqual([]);
    expect(stateAt(cache, 9)).toEqual(['c@7=new']);
    expect([...cache.current.withLabel('text', 'old')]).toEqual([]);
    expect([...cache.snapshot.withLabel('text', 'new')].map(brief)).toEqual(['c@7=new']);
  });

  it.each([
    ['pinned', 1],
    ['a checkpoint', 500],
  ])('forgets past states that were %s when it is refilled', (_name, count) => {
    const cache = newCache();
    for (let revision = 1; revision <= count; revision++) cache.apply(put('old', revision, 'old'));
    cache.pin();
    const refill = cache.refill();
    refill.add(stored('new', count - 1, 'new'));
    refill.finish(count - 1);
    // The same revision again, with another object.
    cache.apply(put('other', count, 'new'));
    cache.apply(put('other', count + 1, 'newer'));
    expect(stateAt(cache, count)).toEqual([`new@${count - 1}=new`, `other@${count}=new`]);
  });

  it('is unchanged when an object cannot be decoded', () => {
    const cache = newCache();
    cache.apply(put('a', 1, 'one'));
    expect(() => cache.apply(put('a', 2, 'damaged'))).toThrow('damaged');
    expect(cache.eventsAfter(1)).toEqual([]);
    expect(stateAt(cache, 2)).toEqual(['a@1=one']);
    const refill = cache.refill();
    expect(() => refill.add(stored('b', 3, 'damaged'))).toThrow('damaged');
    refill.add(stored('c', 3, 'good'));
    refill.finish(3);
    expect(stateAt(cache, 3)).toEqual(['c@3=good']);
  });

  it('knows which values it leaves out, until they are repaired, deleted or no longer stored', () => {
    const cache = newCache();
    const leftOut = (): unknown[] => cache.unreadableUnder(PREFIX).map(({ key, modRevision }) => [key, modRevision]);
    cache.apply(put('a', 1, 'one'));
    for (const [revision, name] of ['a', 'b', 'c'].entries()) {
      cache.applyUnreadable(put(name, 2 + revision, 'damaged'));
    }
    expect(leftOut()).toEqual([
      [`${PREFIX}a`, 2],
      [`${PREFIX}b`, 3],
      [`${PREFIX}c`, 4],
    ]);
    expect(cache.unreadable(`${PREFIX}a`)).toEqual({ key: `${PREFIX}a`, createRevision: 2, modRevision: 2 });
    expect(cache.unreadableUnder(`${PREFIX}b`)).toHaveLength(1);
    expect(cache.apply(put('a', 5, 'repaired'))).toMatchObject({ before: undefined, after: { text: 'repaired' } });
    cache.apply(del('b', 6));
    expect(leftOut()).toEqual([[`${PREFIX}c`, 4]]);
    const refill = cache.refill();
    refill.addUnreadable(stored('d', 7, 'damaged'));
    expect(leftOut()).toEqual([[`${PREFIX}c`, 4]]);
    refill.finish(7);
    expect(leftOut()).toEqual([[`${PREFIX}d`, 7]]);
  });
});
