import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CheckStatus, checkCaches } from './consistency.ts';
import type { Change, KeyValue, Store } from './contract.ts';
import { Reflector } from './reflector.ts';
import type { CacheEntry } from './snapshot.ts';
import { openSqliteStore } from './sqlite/sqlite-store.ts';
import { WatchCache } from './watch-cache.ts';

interface Thing extends CacheEntry {
  readonly text: string;
}

const APPLES = '/registry/apples/';
const PEARS = '/registry/pears/';

function project({ key, value, modRevision }: KeyValue): Thing {
  const text = Buffer.from(value).toString();
  if (text === 'damaged') throw new Error('damaged');
  return { key, revision: modRevision, labels: undefined, text };
}

let dir: string;
let store: Store;
let reflector: Reflector<Thing>;
/** What the watch of the store does not tell. */
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
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-consistency-'));
  store = await openSqliteStore({ file: join(dir, 'store.db') });
  loses = () => false;
  seen = [];
  apples = new WatchCache<Thing>({ prefix: APPLES, project });
  const caches = [apples, new WatchCache<Thing>({ prefix: PEARS, project })];
  const lossy: Store = {
    get: (key, revision) => store.get(key, revision),
    list: (request) => store.list(request),
    write: (one) => store.write(one),
    revision: () => store.revision(),
    compactedRevision: () => store.compactedRevision(),
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
    caches,
    historyRevisions: 0,
    delay: () => Promise.resolve(),
    onError: () => {},
  });
  check = (of = reflector) =>
    checkCaches({
      store,
      caches,
      reflector: of,
      pause: () => Promise.resolve(),
      observe: (cache, status, why) => seen.push([cache.prefix, status, why]),
    });
  await reflector.start();
});
afterEach(async () => {
  await reflector.stop();
  await store.close();
  await rm(dir, { recursive: true });
});

const FINE = [
  [APPLES, 'success', undefined],
  [PEARS, 'success', undefined],
];

describe('B7: the check of the caches', () => {
  it('finds nothing when nothing was lost, whatever can not be read, page after page', async () => {
    for (let i = 0; i < 450; i += 1) {
      await store.write({ key: `${APPLES}a${i}`, value: Buffer.from('x'), expect: { absent: true } });
    }
    await write(`${PEARS}p`, 'damaged');
    await write(`${APPLES}a7`, null);
    await check();
    expect(seen).toEqual(FINE);
    expect(reflector.ready).toBe(true);
  });

  it('compares one state, however much is written meanwhile', async () => {
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
  ])('finds %s that was lost, and has the caches filled anew', async (_, act, expected) => {
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
    // It goes on from there.
    await write(`${APPLES}z`, 'later');
    expect(contents()).toEqual([...expected, 'z=later']);
  });

  it('says when it could not find out, and leaves the caches alone', async () => {
    await write(`${APPLES}a`, '1');
    const past = reflector.revision;
    await write(`${PEARS}p`, '1');
    await store.compact(await store.revision());
    let over = false;
    await check({ revision: past, ready: true, startOver: () => (over = true) });
    expect(seen.map(([, status]) => status)).toEqual(['error', 'error']);
    expect(over).toBe(false);
  });
});
