import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { firstWithin } from './promises.ts';

const never = new Promise<string>(() => {});

test('the promise that settles first decides, also by rejecting', async () => {
  expect(await firstWithin(10_000, never, Promise.resolve('a'), delay(20, 'b'))).toBe('a');
  await expect(firstWithin(10_000, never, Promise.reject(new Error('refused')))).rejects.toThrow('refused');
});

test('undefined after the time, and a later rejection is ignored', async () => {
  const late = delay(20).then(() => Promise.reject(new Error('late')));
  expect(await firstWithin(1, never, late)).toBeUndefined();
  await expect(late).rejects.toThrow('late');
});
