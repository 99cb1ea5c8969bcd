import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { atEndOfTick, lastInTick } from './event-loop.ts';

test('what hands over comes before what takes long, and what waits for it is started in between', async () => {
  const order: string[] = [];
  lastInTick(() => order.push('long'));
  atEndOfTick(() => order.push('hand over'));
  new Promise<void>(atEndOfTick).then(() => order.push('handed over'));
  lastInTick(() => order.push('longer'));
  await nextTurn();
  expect(order).toEqual(['hand over', 'handed over', 'long', 'longer']);
});

test('what is asked for at the end of a turn is for the next one, in the same order', async () => {
  const order: string[] = [];
  const again = (): void => {
    order.push('long');
    if (order.length < 6) lastInTick(again);
  };
  lastInTick(() => {
    again();
    // As whatever arrives in the next turn does.
    atEndOfTick(() => order.push('hand over'));
  });
  atEndOfTick(() => atEndOfTick(() => order.push('second')));
  await nextTurn();
  expect(order).toEqual(['long']);
  await nextTurn();
  expect(order).toEqual(['long', 'second', 'hand over', 'long']);
  await nextTurn();
  await nextTurn();
  expect(order).toEqual(['long', 'second', 'hand over', 'long', 'long', 'long']);
});

test('one that throws keeps none of the others from running', async () => {
  const order: string[] = [];
  const thrown: unknown[] = [];
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => thrown.push(error));
  try {
    atEndOfTick(() => {
      throw new Error('first');
    });
    atEndOfTick(() => order.push('second'));
    lastInTick(() => {
      throw new Error('last');
    });
    lastInTick(() => order.push('after it'));
    for (let turn = 0; turn < 3; turn++) await nextTurn();
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const listener of others) process.on('uncaughtException', listener);
  }
  expect(order.toSorted()).toEqual(['after it', 'second']);
  expect(thrown).toHaveLength(2);
});
