import { expect, it } from 'vitest';
import { StorageError } from '../storage/contract.ts';
import { Retries, STALLED_AFTER_MS } from './retries.ts';

const fails = (code: 'unavailable' | 'unknown-outcome'): never => {
  throw new StorageError(code, 'etcd could not take the write: no answer');
};
const unavailable = (): never => fails('unavailable');

/** Retries whose clock advances only while they sleep. */
function onTestClock() {
  const slept: number[] = [];
  const said: { at: number; problem: string }[] = [];
  let now = 0;
  const retries = new Retries({
    onWait: (problem) => said.push({ at: now, problem }),
    now: () => now,
    sleep: async (ms) => {
      slept.push(ms);
      now += ms;
    },
  });
  return { retries, slept, said, elapsed: () => now };
}

it('repeats a call with growing pauses, and reports what it waits for at intervals', async () => {
  const { retries, slept, said } = onTestClock();
  const repeated: boolean[] = [];
  const result = await retries.run(async (isRepeated) => {
    repeated.push(isRepeated);
    return repeated.length <= 8 ? fails(repeated.length % 2 === 0 ? 'unavailable' : 'unknown-outcome') : 'done';
  });
  expect(result).toBe('done');
  expect(repeated).toEqual([false, ...Array.from({ length: 8 }, () => true)]);
  expect(slept).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  expect(said.map(({ at }) => at)).toEqual([0, 11_200]);
  expect(said[0]?.problem).toBe('etcd could not take the write: no answer');
});

it('fails after a bounded time without progress, with the last problem', async () => {
  const { retries, elapsed } = onTestClock();
  const error = await retries.run(async () => unavailable()).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'unavailable' });
  expect(String(error)).toMatch(/no progress for 2 minutes: etcd could not take the write: no answer/);
  expect(elapsed()).toBeGreaterThanOrEqual(STALLED_AFTER_MS);
});

it('a call that succeeds is progress for all calls', async () => {
  const { retries, elapsed } = onTestClock();
  let attempts = 0;
  await retries.run(async () => {
    attempts += 1;
    await retries.run(async () => undefined);
    if (elapsed() < 3 * STALLED_AFTER_MS) unavailable();
  });
  expect(attempts).toBeGreaterThan(3);
});

it.each(['refused', 'too-large', 'in-use', 'closed'] as const)('%s is not repeated', async (code) => {
  const { retries, slept } = onTestClock();
  const call = retries.run(async () => {
    throw new StorageError(code, 'no');
  });
  await expect(call).rejects.toMatchObject({ code });
  expect(slept).toEqual([]);
});
