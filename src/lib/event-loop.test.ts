import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { EndOfTick } from './event-loop.ts';

const { handOver, work } = new EndOfTick();

test('what hands over comes before what takes long, and what waits for it is started in between', async () => {
  const order: string[] = [];
  work(() => order.push('long'));
  handOver(() => order.push('hand over'));
  new Promise<void>(handOver).then(() => order.push('handed over'));
  work(() => order.push('longer'));
  await nextTurn();
  expect(order).toEqual(['hand over', 'handed over', 'long', 'longer']);
});

test('what is asked for at the end of a turn is for the next one, in the same order', async () => {
  const order: string[] = [];
  const again = (): void => {
    order.push('long');
    if (order.length < 6) work(again);
  };
  work(() => {
    again();
    // As whatever arrives in the next turn does.
    handOver(() => order.push('hand over'));
  });
  handOver(() => handOver(() => order.push('second')));
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
    handOver(() => {
      throw new Error('first');
    });
    handOver(() => order.push('second'));
    work(() => {
      throw new Error('last');
    });
    work(() => order.push('after it'));
    for (let turn = 0; turn < 3; turn++) await nextTurn();
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const listener of others) process.on('uncaughtException', listener);
  }
  expect(order.toSorted()).toEqual(['after it', 'second']);
  expect(thrown).toHaveLength(2);
});
