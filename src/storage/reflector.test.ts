import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { lonelyWork } from '../lib/work-queue.fixture.ts';
import { type KeyValue, StorageError, type Store } from './contract.ts';
import { Reflector, type ReflectorListener, type ReflectorOptions } from './reflector.ts';
import type { CacheEntry } from './snapshot.ts';
import { openTestStore } from './sqlite/test-store.fixture.ts';
import { WatchCache } from './watch-cache.ts';

interface Thing extends CacheEntry {
  readonly text: string;
}

const APPLES = '/registry/apples/';
const PEARS = '/registry/pears/';

function project({ key, value, modRevision }: KeyValue): Thing {
  const { text } = JSON.parse(Buffer.from(value).toString()) as { text: string };
  return { key, revision: modRevision, indexed: [], bytes: 0, text };
}

/** Records the calls, and checks that the caches already have each event. */
class Recorder implements ReflectorListener<Thing> {
  readonly lines: string[] = [];
  readonly #name: string;
  readonly #shared: string[];

  constructor(name: string, shared: string[] = []) {
    this.#name = name;
    this.#shared = shared;
  }

  #note(line: string): void {
    this.lines.push(line);
    this.#shared.push(`${this.#name}: ${line}`);
  }

  onEvent({ cache, revision, before, after }: Parameters<ReflectorListener<Thing>['onEvent']>[0]): void {
    const key = (after ?? before)?.key ?? '';
    const cached = cache.current.get(key);
    if (cached !== after) throw new Error('called before the cache had the event');
    this.#note(`event ${revision} ${before?.text ?? '-'} > ${after?.text ?? '-'}`);
  }

  onProgress(revision: number): void {
    this.#note(`progress ${revision}`);
  }

  onReset(revision: number): void {
    this.#note(`reset ${revision}`);
  }

  get events(): string[] {
    return this.lines.filter((line) => line.startsWith('event'));
  }
}

let store: Store;

beforeEach(async () => {
  store = await openTestStore();
});

const bytes = (text: string): Uint8Array => Buffer.from(JSON.stringify({ text }));

async function put(key: string, value: string | Uint8Array): Promise<number> {
  const current = await store.get(key);
  const expected = current === undefined ? { absent: true as const } : { modRevision: current.modRevision };
  const result = await store.write({ key, value: typeof value === 'string' ? bytes(value) : value, expect: expected });
  expect(result.ok).toBe(true);
  return result.revision;
}

async function del(key: string): Promise<number> {
  const current = await store.get(key);
  const result = await store.write({ key, value: null, expect: { modRevision: current?.modRevision ?? 0 } });
  expect(result.ok).toBe(true);
  return result.revision;
}

function newReflector(options: Partial<ReflectorOptions<Thing>> = {}) {
  const apples = new WatchCache<Thing>({ prefix: APPLES, project });
  const pears = new WatchCache<Thing>({ prefix: PEARS, project });
  const errors: unknown[] = [];
  const reflector = new Reflector<Thing>({
    store,
    prefix: '/registry/',
    caches: [apples, pears],
    historyRevisions: 1_000,
    delay: () => Promise.resolve(),
    onError: (error) => errors.push(error),
    work: lonelyWork(),
    ...options,
  });
  onTestFinished(() => reflector.stop());
  return { reflector, apples, pears, errors };
}

const contents = (cache: WatchCache<Thing>): string[] =>
  [...cache.current.scan(cache.prefix)].map(({ key, text }) => `${key.slice(cache.prefix.length)}=${text}`);

/** A real store whose watch can be cut. */
class CuttableStore implements Store {
  readonly get = store.get.bind(store);
  readonly list = store.list.bind(store);
  readonly write = store.write.bind(store);
  readonly revision = store.revision.bind(store);
  readonly compact = store.compact.bind(store);
  readonly close = store.close.bind(store);
  #cut = new AbortController();

  cut(): void {
    this.#cut.abort();
  }

  async *watch(prefix: string, after: number, signal: AbortSignal) {
    this.#cut = new AbortController();
    const { signal: cut } = this.#cut;
    yield* store.watch(prefix, after, AbortSignal.any([signal, cut]));
    if (cut.aborted) throw new StorageError('unavailable', 'the connection was lost');
  }
}

/** A delay that lasts until the connection is `restored`. */
function heldDelay() {
  let end = (): void => {};
  const delay = () =>
    new Promise<void>((resolve) => {
      end = resolve;
    });
  return { delay, restored: () => end() };
}

describe('Reflector', () => {
  it('is ready at the revision of the store after start, also with an empty store', async () => {
    const { reflector, apples } = newReflector();
    expect(reflector.ready).toBe(false);
    await reflector.start();
    expect(reflector.ready).toBe(true);
    expect(reflector.revision).toBe(await store.revision());
    expect(contents(apples)).toEqual([]);
  });

  it('starts in the past, so that watches can resume after a restart', async () => {
    const first = await put(`${APPLES}a`, 'one');
    await put(`${APPLES}b`, 'two');
    await put(`${PEARS}p`, 'three');
    await put(`${APPLES}a`, 'four');
    const last = await del(`${APPLES}b`);
    const { reflector, apples, pears } = newReflector({ historyRevisions: 4 });
    const recorder = new Recorder('one');
    reflector.listen(recorder);
    await reflector.start();

    expect(apples.windowStart).toBe(first);
    expect(pears.windowStart).toBe(first);
    expect(recorder.lines[0]).toBe(`reset ${first}`);
    expect(recorder.events).toEqual([
      `event ${first + 1} - > two`,
      `event ${first + 2} - > three`,
      `event ${first + 3} one > four`,
      `event ${last} two > -`,
    ]);
    expect(apples.eventsAfter(first)?.map(({ revision }) => revision)).toEqual([first + 1, first + 3, last]);
    expect([...(apples.at(first + 2)?.scan(APPLES) ?? [])].map(({ text }) => text)).toEqual(['one', 'two']);
    expect(apples.at(first - 1)).toBeUndefined();
    expect(contents(apples)).toEqual(['a=four']);
  });

  it('starts without history when a part of it is gone', async () => {
    for (let i = 0; i < 10; i++) await put(`${APPLES}a`, `v${i}`);
    const now = await store.revision();
    await store.compact(now - 5);
    const { reflector, apples } = newReflector({ historyRevisions: 16 });
    await reflector.start();
    expect(reflector.ready).toBe(true);
    expect(apples.windowStart).toBe(now);
    expect(apples.eventsAfter(now)).toEqual([]);
    expect(contents(apples)).toEqual(['a=v9']);
  });

  it('catches up with every write that was acknowledged before', async () => {
    const { reflector, apples } = newReflector();
    await reflector.start();
    for (let i = 0; i < 20; i++) {
      await put(`${APPLES}a`, `v${i}`);
      expect(await reflector.waitFor(await store.revision(), 10_000)).toBe(true);
      expect(contents(apples)).toEqual([`a=v${i}`]);
    }
  });

  it('resumes after the connection was lost: no event is missed or repeated', async () => {
    const cuttable = new CuttableStore();
    const { delay, restored } = heldDelay();
    const { reflector, apples, errors } = newReflector({ store: cuttable, delay });
    const recorder = new Recorder('one');
    reflector.listen(recorder);
    await reflector.start();
    const first = await put(`${APPLES}a`, 'one');
    await reflector.waitFor(first);
    cuttable.cut();
    await put(`${APPLES}a`, 'two');
    const last = await put(`${APPLES}b`, 'three');
    await expect.poll(() => errors).toMatchObject([{ code: 'unavailable' }]);
    restored();
    expect(await reflector.waitFor(last)).toBe(true);
    expect(recorder.events).toEqual([
      `event ${first} - > one`,
      `event ${first + 1} one > two`,
      `event ${last} - > three`,
    ]);
    expect(recorder.lines.filter((line) => line.startsWith('reset'))).toHaveLength(1);
    expect(contents(apples)).toEqual(['a=two', 'b=three']);
  });

  it('starts over when missed changes are compacted, and resolves waiters', async () => {
    const cuttable = new CuttableStore();
    const { delay, restored } = heldDelay();
    const { reflector, apples, pears, errors } = newReflector({ store: cuttable, historyRevisions: 0, delay });
    const recorder = new Recorder('one');
    reflector.listen(recorder);
    await put(`${APPLES}gone`, 'x');
    await put(`${PEARS}p`, 'one');
    await reflector.start();
    const before = reflector.revision;
    cuttable.cut();
    await expect.poll(() => errors).toHaveLength(1);
    await del(`${APPLES}gone`);
    await put(`${PEARS}p`, 'two');
    const last = await put(`${APPLES}new`, 'y');
    await store.compact(last);
    const waiting = reflector.waitFor(last);
    restored();
    // No write follows: the refill resolves the waiter.
    expect(await waiting).toBe(true);
    expect(errors).toMatchObject([{ code: 'unavailable' }, { code: 'compacted' }]);
    expect(reflector.ready).toBe(true);
    expect(reflector.revision).toBe(last);
    expect(recorder.lines).toEqual([`reset ${before}`, `reset ${last}`]);
    expect(contents(apples)).toEqual(['new=y']);
    expect(contents(pears)).toEqual(['p=two']);
    expect(apples.windowStart).toBe(last);

    const next = await put(`${APPLES}new`, 'z');
    await reflector.waitFor(next);
    expect(recorder.events).toEqual([`event ${next} y > z`]);
  });

  it('starts over until it succeeds, also when the store fails meanwhile', async () => {
    let failures = 0;
    const failing = Object.assign(new CuttableStore(), {
      revision: () =>
        failures-- > 0 ? Promise.reject(new StorageError('unavailable', 'the connection was lost')) : store.revision(),
    });
    const { reflector, apples, errors } = newReflector({ store: failing });
    await put(`${APPLES}a`, 'one');
    await reflector.start();
    failures = 2;
    reflector.startOver();
    await expect.poll(() => errors.length).toBe(2);
    await expect.poll(() => reflector.ready).toBe(true);
    await reflector.waitFor(await put(`${APPLES}a`, 'two'));
    expect(contents(apples)).toEqual(['a=two']);
  });

  it('is not ready while it starts over, however long that takes', async () => {
    let isBroken = false;
    const failing = Object.assign(new CuttableStore(), {
      revision: () => (isBroken ? Promise.reject(new StorageError('unavailable', 'lost')) : store.revision()),
    });
    const { reflector, errors } = newReflector({
      store: failing,
      delay: () => new Promise((resolve) => setImmediate(resolve)),
    });
    await reflector.start();
    expect(reflector.ready).toBe(true);
    isBroken = true;
    reflector.startOver();
    await expect.poll(() => errors.length).toBeGreaterThan(0);
    expect(reflector.ready).toBe(false);
    isBroken = false;
    await expect.poll(() => reflector.ready).toBe(true);
  });

  it('keeps a value that cannot be decoded where its kind says so, when it is loaded and when it changes', async () => {
    const projectUnreadable = ({ key, modRevision }: KeyValue): Thing => {
      return { key, revision: modRevision, indexed: [], bytes: 0, text: 'unreadable' };
    };
    const newCaches = () => [new WatchCache<Thing>({ prefix: APPLES, project, projectUnreadable })] as const;
    await put(`${APPLES}bad`, Buffer.from('{'));
    const [loaded] = newCaches();
    await newReflector({ caches: [loaded], historyRevisions: 0 }).reflector.start();
    expect(contents(loaded)).toEqual(['bad=unreadable']);
    const [watched] = newCaches();
    const { reflector } = newReflector({ caches: [watched] });
    await reflector.start();
    await reflector.waitFor(await put(`${APPLES}worse`, Buffer.from('{')));
    expect(contents(watched)).toEqual(['bad=unreadable', 'worse=unreadable']);
  });

  it('calls a listener that fails no more until it is reset, and survives one that cannot be reset', async () => {
    const { reflector, apples, errors } = newReflector();
    const calls: string[] = [];
    const fail = (name: string) => (): void => {
      calls.push(name);
      throw new Error(name);
    };
    reflector.listen({ onEvent: fail('event'), onProgress: fail('progress'), onReset: fail('reset') });
    await reflector.start();
    calls.length = 0;
    errors.length = 0;
    await reflector.waitFor(await put(`${APPLES}a`, 'one'));
    await expect.poll(() => calls).toEqual(['event', 'reset']);
    expect(errors.map(String)).toEqual(['Error: event', 'Error: reset']);
    await reflector.waitFor(await put(`${APPLES}a`, 'two'));
    expect(contents(apples)).toEqual(['a=two']);
  });

  it('leaves out and reports a value that cannot be decoded, and takes it back when it is repaired', async () => {
    await put(`${APPLES}a`, 'good');
    await put(`${APPLES}bad`, Buffer.from('{'));
    const loaded = newReflector({ historyRevisions: 0 });
    await loaded.reflector.start();
    expect(contents(loaded.apples)).toEqual(['a=good']);
    expect(loaded.errors).toMatchObject([{ code: 'unreadable' }]);
    expect(loaded.errors).toMatchObject([{ message: `the value of ${APPLES}bad cannot be decoded` }]);
    const explained = newReflector({ historyRevisions: 0, decodeProblem: (error) => (error as Error).name });
    await explained.reflector.start();
    expect(explained.errors).toMatchObject([{ message: `the value of ${APPLES}bad cannot be decoded: SyntaxError` }]);

    const { reflector, apples, errors } = newReflector();
    const recorder = new Recorder('one');
    reflector.listen(recorder);
    await reflector.start();
    expect(contents(apples)).toEqual(['a=good']);
    const damaged = await put(`${APPLES}a`, Buffer.from('not JSON'));
    const other = await put(`${APPLES}b`, 'fine');
    expect(await reflector.waitFor(other, 10_000)).toBe(true);
    expect(contents(apples)).toEqual(['b=fine']);
    expect(errors).toMatchObject([{ code: 'unreadable' }, { code: 'unreadable' }]);
    const repaired = await put(`${APPLES}a`, 'repaired');
    await reflector.waitFor(repaired);
    expect(contents(apples)).toEqual(['a=repaired', 'b=fine']);
    expect(recorder.events.slice(-3)).toEqual([
      `event ${damaged} good > -`,
      `event ${other} - > fine`,
      `event ${repaired} - > repaired`,
    ]);
  });
});
