import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compactedRevision } from '../../test/conformance/harness.ts';
import { startCompactor } from './compactor.ts';
import type { Store } from './contract.ts';
import { openTestStore } from './sqlite/test-store.fixture.ts';

/** A clock that the test advances. `round` resolves when a round is done. */
class FakeClock {
  #now = 1_000_000;
  #sleeper: { ms: number; wake: () => void } | undefined;
  #asleep = Promise.withResolvers<void>();

  now(): number {
    return this.#now;
  }

  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) resolve();
      signal?.addEventListener('abort', () => resolve());
      this.#sleeper = { ms, wake: resolve };
      this.#asleep.resolve();
    });
  }

  /** Advances by one interval, and waits for the round after it. */
  async round(): Promise<void> {
    await this.#asleep.promise;
    this.#asleep = Promise.withResolvers();
    this.#now += this.#sleeper?.ms ?? 0;
    this.#sleeper?.wake();
    await this.#asleep.promise;
  }
}

let store: Store;
let clock: FakeClock;
let compactor: ReturnType<typeof startCompactor> | undefined;

beforeEach(async () => {
  store = await openTestStore();
  clock = new FakeClock();
});

afterEach(() => compactor?.stop());

let written = 0;
async function write(count: number): Promise<number> {
  const keys = Array.from({ length: count }, () => `/a/${written++}`);
  await Promise.all(keys.map((key) => store.write({ key, value: new Uint8Array(1), expect: { absent: true } })));
  return store.revision();
}

describe('B17: the compactor', () => {
  it('keeps revisions younger than retainMs', async () => {
    const early = await write(10);
    compactor = startCompactor({ store, clock, retainMs: 300_000, retainRevisions: 0, intervalMs: 60_000 });
    await clock.round();
    const later = await write(10);
    for (let i = 0; i < 3; i++) await clock.round();
    expect(await compactedRevision(store)).toBe(0);
    await clock.round();
    expect(await compactedRevision(store)).toBe(early - 1);
    await clock.round();
    await clock.round();
    expect(await compactedRevision(store)).toBe(later - 1);
  });

  it('keeps the newest retainRevisions, however old', async () => {
    const first = await write(30);
    compactor = startCompactor({ store, clock, retainMs: 60_000, retainRevisions: 20, intervalMs: 60_000 });
    for (let i = 0; i < 10; i++) await clock.round();
    expect(await compactedRevision(store)).toBe(first - 20 - 1);
    expect(await store.get('/none', first - 20)).toBeUndefined();
  });

  it('continues after a compaction that failed, and logs it', async () => {
    const warnings: string[] = [];
    let fail = true;
    const flaky: Parameters<typeof startCompactor>[0]['store'] = {
      revision: () => store.revision(),
      compact: (revision) => (fail ? Promise.reject(new Error('database is locked')) : store.compact(revision)),
    };
    const last = await write(10);
    compactor = startCompactor({
      store: flaky,
      clock,
      retainMs: 60_000,
      retainRevisions: 0,
      intervalMs: 60_000,
      logger: { warn: (_, message) => warnings.push(message) },
    });
    await clock.round();
    expect(warnings).toHaveLength(1);
    expect(await compactedRevision(store)).toBe(0);
    fail = false;
    await clock.round();
    expect(await compactedRevision(store)).toBe(last - 1);
    expect(warnings).toHaveLength(1);
  });

  it('does nothing while another process leads, and takes over without a gap', async () => {
    let leads = false;
    const leadership = { leads: () => leads };
    const first = await write(10);
    compactor = startCompactor({ store, clock, leadership, retainMs: 60_000, retainRevisions: 0, intervalMs: 60_000 });
    for (let i = 0; i < 3; i++) await clock.round();
    expect(await compactedRevision(store)).toBe(0);
    leads = true;
    await clock.round();
    expect(await compactedRevision(store)).toBe(first - 1);
  });
});
