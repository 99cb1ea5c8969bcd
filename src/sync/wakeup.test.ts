import { expect, it } from 'vitest';
import { Wakeup } from './wakeup.ts';

const HOUR_MS = 3_600_000;

/** Whether the wait is over when everything that is due now has run. */
async function isOver(wait: Promise<void>): Promise<boolean> {
  let over = false;
  void wait.then(() => {
    over = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return over;
}

it('ends a wait that has begun, and the next one if none had begun', async () => {
  const { signal } = new AbortController();
  const wakeup = new Wakeup();
  const first = wakeup.wait(HOUR_MS, signal);
  expect(await isOver(first)).toBe(false);
  wakeup.set();
  expect(await isOver(first)).toBe(true);
  wakeup.reset();
  wakeup.set();
  expect(await isOver(wakeup.wait(HOUR_MS, signal))).toBe(true);
  wakeup.reset();
  const last = wakeup.wait(HOUR_MS, signal);
  expect(await isOver(last)).toBe(false);
  wakeup.set();
  await last;
});

it('ends a wait with its signal, before and after it has begun', async () => {
  const stop = new AbortController();
  const wakeup = new Wakeup();
  const wait = wakeup.wait(HOUR_MS, stop.signal);
  expect(await isOver(wait)).toBe(false);
  stop.abort();
  expect(await isOver(wait)).toBe(true);
  expect(await isOver(wakeup.wait(HOUR_MS, stop.signal))).toBe(true);
});
