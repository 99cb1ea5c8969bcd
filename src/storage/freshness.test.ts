import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StorageError, type StorageErrorCode } from './contract.ts';
import { Freshness } from './freshness.ts';
import { RevisionWaiters } from './revision-waiters.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => vi.useRealTimers());

const NEVER = 1_000_000_000;

interface State {
  revision: number;
  answerMs: number;
  answers: boolean;
  fails: StorageErrorCode | undefined;
  /** How long a question takes that fails. */
  failMs: number;
  asked: number;
  answered: number;
  /** How far the clock of the process is ahead, after a pause. */
  pausedMs: number;
  /** For how long the machine has slept: the wall clock goes on, and the clock of the process stands still. */
  sleptMs: number;
}

/** A store whose answers the test decides, and two parts that follow it. */
function open({ answerMs = 5, known }: { answerMs?: number; known?: () => number | undefined } = {}) {
  const state: State = {
    revision: 10,
    answerMs,
    answers: true,
    fails: undefined,
    failMs: 0,
    asked: 0,
    answered: 0,
    pausedMs: 0,
    sleptMs: 0,
  };
  const caches = new RevisionWaiters();
  const keys = new RevisionWaiters();
  caches.moveTo(10);
  keys.moveTo(10);
  const freshness = new Freshness({
    store: {
      revision: async () => {
        const { fails, failMs } = state;
        if (fails !== undefined && failMs > 0) await new Promise((resolve) => setTimeout(resolve, failMs));
        if (fails !== undefined) throw new StorageError(fails, 'away');
        const { revision } = state;
        state.asked += 1;
        await new Promise((resolve) => {
          if (state.answers) setTimeout(resolve, state.answerMs);
        });
        state.answered += 1;
        return revision;
      },
      ...(known && { knownRevision: known }),
    },
    parts: [caches],
    now: () => performance.now() + state.pausedMs,
    wallNow: () => Date.UTC(2026, 10, 16) + performance.now() + state.pausedMs + state.sleptMs,
  });
  freshness.include(keys);
  const stop = freshness.start();
  /** Whether a request that arrives now is decided, within this time. */
  const decided = async (withinMs: number): Promise<boolean> => {
    let is = false;
    void freshness.whenCurrent(withinMs).then((current) => {
      is = current;
    });
    await vi.advanceTimersByTimeAsync(withinMs);
    return is;
  };
  return { state, caches, keys, freshness, stop, decided, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

describe('B30: decisions from memory', () => {
  it('need no question while the parts keep up', async () => {
    const { freshness, pass } = open();
    await pass(100);
    for (let i = 0; i < 50; i++) {
      await pass(97);
      expect(freshness.proveCurrent()).toBe(true);
      expect(freshness.isUnreachable).toBe(false);
    }
  });

  it('are not allowed by a question that was asked more than a second before them', async () => {
    const { state, caches, keys, freshness, pass } = open();
    await pass(240);
    state.revision = 11;
    // The question at 250 ms is about 11, and all later ones are about 12.
    await pass(20);
    state.revision = 12;
    await pass(1_040);
    let isDecided = false;
    void freshness.whenCurrent(2_000).then((current) => {
      isDecided = current;
    });
    for (const part of [caches, keys]) part.moveTo(11);
    await pass(10);
    expect(isDecided).toBe(false);
    for (const part of [caches, keys]) part.moveTo(12);
    await pass(10);
    expect(isDecided).toBe(true);
  });

  it.each(['caches', 'keys'] as const)('end a second after the watch of the %s has stopped', async (which) => {
    const { state, caches, keys, freshness, decided, pass } = open();
    await pass(1_000);
    state.revision = 11;
    for (const other of [caches, keys]) if (other !== (which === 'caches' ? caches : keys)) other.moveTo(11);
    await pass(1_001);
    expect(freshness.proveCurrent()).toBe(false);
    expect(await decided(2_000)).toBe(false);
    (which === 'caches' ? caches : keys).moveTo(11);
    expect(await decided(50)).toBe(true);
    expect(freshness.proveCurrent()).toBe(true);
  });

  it('go on from memory while the store answers nothing, and wait again once it does', async () => {
    const { state, caches, keys, freshness, decided, pass } = open();
    await pass(1_000);
    state.answers = false;
    await pass(1_000);
    expect(freshness.isUnreachable).toBe(true);
    expect(freshness.proveCurrent()).toBe(true);
    state.answers = true;
    state.revision = 12;
    await pass(300);
    expect(freshness.isUnreachable).toBe(false);
    expect(freshness.proveCurrent()).toBe(false);
    caches.moveTo(12);
    keys.moveTo(12);
    expect(await decided(300)).toBe(true);
  });

  it('go on from memory when every question fails at once', async () => {
    const { state, freshness, pass } = open();
    await pass(1_000);
    state.fails = 'unavailable';
    await pass(2_000);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([true, true]);
  });

  it('end when the store refuses to answer: others reach it, and can revoke', async () => {
    const { state, freshness, decided, pass } = open();
    await pass(1_000);
    state.fails = 'refused';
    await pass(1_001);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([false, false]);
    expect(await decided(1_500)).toBe(false);
    // A store that has been silent before is not silent any more.
    state.fails = 'unavailable';
    await pass(1_000);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([true, true]);
    state.fails = 'refused';
    await pass(300);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([false, false]);
    state.fails = undefined;
    expect(await decided(300)).toBe(true);
  });

  it('end when another store has taken the place of this one, also when that one is not reached later', async () => {
    const { state, freshness, decided, pass } = open();
    await pass(1_000);
    state.fails = 'replaced';
    await pass(2_000);
    expect([freshness.isUnreachable, freshness.proveCurrent(), await decided(1_000)]).toEqual([false, false, false]);
    state.fails = 'unavailable';
    await pass(2_000);
    expect([freshness.proveCurrent(), await decided(1_000)]).toEqual([false, false]);
  });

  it('never wait between the last proof and the finding that the store is unreachable', async () => {
    const { state, freshness, pass } = open();
    await pass(1_000);
    state.answers = false;
    for (let i = 0; i < 300; i++) {
      await pass(10);
      expect(freshness.proveCurrent()).toBe(true);
    }
  });

  it('wait for a moment when every answer takes a second, and are not made from memory', async () => {
    const { freshness, decided, pass } = open({ answerMs: 1_000 });
    await pass(3_000);
    expect(freshness.isUnreachable).toBe(false);
    for (let i = 0; i < 10; i++) {
      await pass(37);
      expect(await decided(300)).toBe(true);
      expect(freshness.isUnreachable).toBe(false);
    }
  });

  it('wait after a pause of this process, which says nothing about the store', async () => {
    const { state, freshness, decided, pass } = open();
    await pass(1_000);
    state.pausedMs = 60_000;
    expect(freshness.proveCurrent()).toBe(false);
    expect(freshness.isUnreachable).toBe(false);
    expect(await decided(20)).toBe(true);
    expect(freshness.isUnreachable).toBe(false);
  });

  it('wait while the caches are refilled: they begin in the past', async () => {
    const { caches, freshness, decided, pass } = open();
    await pass(1_000);
    expect(freshness.proveCurrent()).toBe(true);
    caches.moveTo(4);
    expect(freshness.proveCurrent()).toBe(false);
    expect(await decided(1_000)).toBe(false);
    caches.moveTo(10);
    expect(await decided(1_000)).toBe(true);
  });

  it('wait when one question is not answered and a later one is: the store is reachable', async () => {
    const { state, freshness, pass } = open();
    await pass(1_100);
    state.answers = false;
    await pass(200);
    state.answers = true;
    state.revision = 11;
    for (let i = 0; i < 200; i++) {
      await pass(10);
      expect(freshness.isUnreachable).toBe(false);
    }
    expect(freshness.proveCurrent()).toBe(false);
  });

  it('begin when the store is found unreachable: those that wait go on', async () => {
    const { freshness, decided } = open({ answerMs: NEVER });
    expect(freshness.proveCurrent()).toBe(false);
    expect(await decided(750)).toBe(true);
    expect([freshness.isUnreachable, freshness.waiting]).toEqual([true, 0]);
  });

  it('are not made because a timer fires late: this process was suspended, not the store', async () => {
    const { state, freshness, pass } = open();
    await pass(1_100);
    state.answers = false;
    await pass(200);
    state.pausedMs = 60_000;
    // The timer of the question before the pause.
    await pass(660);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([false, false]);
  });

  it('are not made because a question from before a pause fails after it', async () => {
    const { state, freshness, pass } = open();
    await pass(1_100);
    state.fails = 'unavailable';
    state.failMs = 500;
    // Asked at 1,250 ms.
    await pass(200);
    state.pausedMs = 60_000;
    await pass(460);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([false, false]);
    // One from after the pause.
    await pass(300);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([true, true]);
  });

  it('are not made because the store did not answer before a pause', async () => {
    const { state, freshness, pass } = open();
    state.answers = false;
    await pass(2_000);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([true, true]);
    state.pausedMs = 60_000;
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([false, false]);
    // It does not answer after the pause, either.
    await pass(1_000);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([true, true]);
  });

  it('are not made because the store was silent before a short pause, and answers after it', async () => {
    const { state, freshness, decided, pass } = open();
    await pass(1_000);
    state.answers = false;
    await pass(1_000);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([true, true]);
    // It answers again, and others revoke: this process was suspended meanwhile. See models/freshness.pml.
    state.answers = true;
    state.revision = 11;
    state.pausedMs = 1_200;
    expect(freshness.proveCurrent()).toBe(false);
    expect(await decided(100)).toBe(false);
  });

  it('are not made because the timeout of a question passes in a pause, before its answer is read', async () => {
    const { state, freshness, pass } = open();
    await pass(1_990);
    state.fails = 'unavailable';
    state.failMs = 15;
    // Asked at 2,000 ms.
    await pass(15);
    state.pausedMs = 2_300;
    await pass(12);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([false, false]);
  });

  it('wait for caches that were refilled from before what was acknowledged here', async () => {
    let ready = true;
    const caches = new RevisionWaiters();
    caches.moveTo(10);
    const part = {
      get ready() {
        return ready;
      },
      get revision() {
        return caches.revision;
      },
      waitFor: (revision: number, timeoutMs?: number) => caches.waitFor(revision, timeoutMs),
    };
    const freshness = new Freshness({ store: { revision: async () => 10 }, parts: [part] });
    await freshness.catchUp(1_000);
    // A write of this process was applied, and acknowledged, after the proof. The refill is as old as the proof.
    caches.moveTo(11);
    expect(freshness.proveCurrent()).toBe(true);
    ready = false;
    caches.moveTo(10);
    expect(freshness.proveCurrent()).toBe(false);
    ready = true;
    caches.moveTo(11);
    expect(freshness.proveCurrent()).toBe(true);
  });

  it('wait after a sleep of the machine, during which the monotonic clock stands still', async () => {
    const { state, freshness, decided, pass } = open();
    await pass(1_000);
    state.sleptMs = 60_000;
    expect(freshness.proveCurrent()).toBe(false);
    expect(await decided(20)).toBe(true);
    // Its answer was on the way when the machine fell asleep.
    state.answerMs = 100;
    await pass(260);
    state.sleptMs += 60_000;
    await pass(110);
    expect(freshness.proveCurrent()).toBe(false);
    // Unreachable was what the store was before.
    state.answers = false;
    await pass(2_000);
    expect([freshness.isUnreachable, freshness.proveCurrent()]).toEqual([true, true]);
    state.sleptMs += 60_000;
    expect([freshness.proveCurrent(), freshness.isUnreachable]).toEqual([false, false]);
  });

  it('wait for caches that are refilled, also when the store is found unreachable', async () => {
    const { state, caches, freshness, decided, pass } = open();
    await pass(1_000);
    caches.moveTo(4);
    state.answers = false;
    expect(await decided(2_000)).toBe(false);
    expect(freshness.isUnreachable).toBe(true);
    caches.moveTo(10);
    expect(await decided(10)).toBe(true);
  });

  it('need no questions any more when they have been stopped', async () => {
    const { state, stop, pass } = open();
    await pass(1_000);
    stop();
    const { asked } = state;
    await pass(10_000);
    expect([asked > 3, state.asked]).toEqual([true, asked]);
  });

  it('that are not made in time leave nothing behind', async () => {
    const { state, freshness, decided, pass } = open();
    await pass(1_000);
    state.revision = 11;
    await pass(1_001);
    const all = Array.from({ length: 10 }, () => freshness.whenCurrent(100));
    expect(freshness.waiting).toBe(10);
    expect(await decided(500)).toBe(false);
    expect([await Promise.all(all), freshness.waiting]).toEqual([Array(10).fill(false), 0]);
  });

  it('of a store whose revision is known wait for the parts, and for nothing else', async () => {
    let known: number | undefined = 11;
    const { state, caches, keys, freshness, pass } = open({ answerMs: NEVER, known: () => known });
    await pass(100);
    caches.moveTo(11);
    expect(freshness.proveCurrent()).toBe(false);
    keys.moveTo(11);
    expect(freshness.proveCurrent()).toBe(true);
    known = undefined;
    state.fails = 'unavailable';
    await pass(2_000);
    expect(freshness.isUnreachable).toBe(true);
    known = 12;
    caches.moveTo(12);
    keys.moveTo(12);
    await pass(300);
    expect([freshness.proveCurrent(), freshness.isUnreachable]).toEqual([true, false]);
  });
});

it('B8: catches up with what was acknowledged before, or says that it has not', async () => {
  const { state, caches, keys, freshness, pass } = open();
  state.revision = 11;
  const late = freshness.catchUp(500);
  await pass(600);
  expect(await late).toBe(false);
  caches.moveTo(11);
  const half = freshness.catchUp(500);
  await pass(600);
  expect(await half).toBe(false);
  const caught = freshness.catchUp(500);
  await pass(100);
  keys.moveTo(11);
  await pass(10);
  expect(await caught).toBe(true);
});

it('B32: a store that is known to be unreachable is not waited for', async () => {
  const { state, freshness, pass } = open();
  await pass(1_000);
  state.answers = false;
  const first = expect(freshness.catchUp(3_000)).rejects.toMatchObject({ code: 'unavailable' });
  await pass(3_000);
  await first;
  expect(freshness.isUnreachable).toBe(true);
  const second = expect(freshness.catchUp(3_000)).rejects.toMatchObject({ code: 'unavailable' });
  await pass(1_000);
  await second;
});
