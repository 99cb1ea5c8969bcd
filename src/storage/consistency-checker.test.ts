import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lonelyWork } from '../lib/work-queue.fixture.ts';
import { type CheckStatus, checkCaches, startConsistencyChecks } from './consistency-checker.ts';
import type { Change, KeyValue, StorageError, Store } from './contract.ts';
import { Reflector } from './reflector.ts';
import type { CacheEntry } from './snapshot.ts';
import { openTestStore } from './sqlite/test-store.fixture.ts';
import { WatchCache } from './watch-cache.ts';

interface Thing extends CacheEntry {
  readonly text: string;
}

const APPLES = '/registry/apples/';
const PEARS = '/registry/pears/';

function project({ key, value, modRevision }: KeyValue): Thing {
  const text = Buffer.from(value).toString();
  if (text === 'damaged') throw new Error('damaged');
  return { key, revision: modRevision, indexed: [], bytes: 0, text };
}

let store: Store;
let reflector: Reflector<Thing>;
/** Changes that the watch leaves out. */
let loses: (change: Change) => boolean;
let seen: [string, CheckStatus, unknown][];
let check: (of?: Pick<Reflector<Thing>, 'revision' | 'ready' | 'startOver'>) => Promise<void>;
let apples: WatchCache<Thing>;

async function write(key: string, value: string | null): Promise<void> {
  const current = await store.get(key);
  const expect = current === undefined ? { absent: true as const } : { modRevision: current.modRevision };
  await store.write({ key, value: value === null ? null : Buffer.from(value), expect });
  await reflector.waitFor(await store.revision());
}

const contents = (): string[] =>
  [...apples.current.scan(APPLES)].map(({ key, text }) => `${key.slice(APPLES.length)}=${text}`);

beforeEach(async () => {
  store = await openTestStore();
  loses = () => false;
  seen = [];
  apples = new WatchCache<Thing>({ prefix: APPLES, project });
  const caches = [apples, new WatchCache<Thing>({ prefix: PEARS, project })];
  const lossy: Store = {
    get: (key, revision) => store.get(key, revision),
    list: (request) => store.list(request),
    write: (one) => store.write(one),
    revision: () => store.revision(),
    compact: (revision) => store.compact(revision),
    close: () => store.close(),
    async *watch(prefix, after, signal) {
      for await (const { changes, revision } of store.watch(prefix, after, signal)) {
        yield { changes: changes.filter((change) => !loses(change)), revision };
      }
    },
  };
  reflector = new Reflector<Thing>({
    store: lossy,
    prefix: '/registry/',
    caches,
    historyRevisions: 0,
    delay: () => Promise.resolve(),
    onError: () => {},
    work: lonelyWork(),
  });
  check = (of = reflector) =>
    checkCaches({
      store,
      caches: new Map(caches.map((cache) => [cache.prefix, cache])),
      reflector: of,
      pause: () => Promise.resolve(),
      observe: (prefix, status, reason) => seen.push([prefix, status, reason]),
    });
  await reflector.start();
});
afterEach(() => reflector.stop());

const FINE = [
  [APPLES, 'success', undefined],
  [PEARS, 'success', undefined],
];

describe('B7: a check of the caches', () => {
  it('compares one revision while others write', async () => {
    await write(`${APPLES}a`, '1');
    const checking = check();
    await write(`${APPLES}a`, '2');
    await write(`${APPLES}b`, '1');
    await checking;
    expect(seen).toEqual(FINE);
  });

  it.each<[string, () => Promise<void>, string[]]>([
    ['a new object', () => write(`${APPLES}new`, 'x'), ['a=1', 'new=x']],
    ['a change', () => write(`${APPLES}a`, '2'), ['a=2']],
    ['a deletion', () => write(`${APPLES}a`, null), []],
  ])('finds %s that was lost, and has the caches refilled', async (_, act, expected) => {
    await write(`${APPLES}a`, '1');
    loses = ({ key }) => key.startsWith(APPLES);
    await act();
    expect(contents()).toEqual(['a=1']);
    await check();
    expect(seen.map(([prefix, status]) => [prefix, status])).toEqual([
      [APPLES, 'failure'],
      [PEARS, 'success'],
    ]);
    await expect.poll(contents).toEqual(expected);
    await expect.poll(() => reflector.ready).toBe(true);
    seen = [];
    loses = () => false;
    await check();
    expect(seen).toEqual(FINE);
    // The watch goes on from the new state.
    await write(`${APPLES}z`, 'later');
    expect(contents()).toEqual([...expected, 'z=later']);
  });
});

const APPLE_KIND = { resource: 'apples' };

function start(list: Store['list']) {
  const counts: string[] = [];
  const lines: string[] = [];
  let tick = (): void => {};
  let stopped = false;
  let reloads = 0;
  const cache = new WatchCache<Thing>({ prefix: APPLES, project });
  const stop = startConsistencyChecks({
    store: { list },
    reflector: { revision: 5, ready: true, startOver: () => (reloads += 1) },
    pause: () => Promise.resolve(),
    caches: new Map([[APPLE_KIND, cache]]),
    count: ({ resource }, status) => counts.push(`${resource} ${status}`),
    every: (_ms, task) => {
      tick = task;
      return () => {
        stopped = true;
      };
    },
    logger: { error: (_, message) => lines.push(message), warn: (_, message) => lines.push(message) },
  });
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { counts, lines, stop, tick: () => tick(), settled, isStopped: () => stopped, reloads: () => reloads };
}

describe('B7: the checks at an interval', () => {
  it('count by resource, log what is wrong, and have the caches refilled', async () => {
    const answers = [
      async () => ({ items: [], revision: 5, more: false }),
      async () => ({
        items: [{ key: '/registry/apples/a', value: new Uint8Array(), modRevision: 3, createRevision: 3 }],
        revision: 5,
        more: false,
      }),
      async () => Promise.reject(new Error('no answer') as StorageError),
    ];
    const checks = start(() => (answers.shift() ?? answers[0])?.() as ReturnType<Store['list']>);
    for (let i = 0; i < 3; i += 1) {
      checks.tick();
      await checks.settled();
    }
    expect(checks.counts).toEqual(['apples success', 'apples failure', 'apples error']);
    expect(checks.lines).toEqual([
      'the cache differs from the store, all caches are refilled',
      'the cache could not be compared with the store',
    ]);
    expect(checks.reloads()).toBe(1);
    await checks.stop();
  });
});
