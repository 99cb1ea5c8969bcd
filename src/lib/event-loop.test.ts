import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { EndOfTick } from './event-loop.ts';

const { handOver, work } = new EndOfTick();

test('what hands over comes before what takes long, and what waits for it is started in between', async () => {
  const order: string[] = [];
  work(() => order.push('long'));
  handOver(() => order.push('hand over'));
  new Promise<void>(handOver).then(() => order.push('handed over'));
  work(() => order.push('longer'));
  await nextTick();
  expect(order).toEqual(['hand over', 'handed over', 'long', 'longer']);
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
    for (let tick = 0; tick < 3; tick++) await nextTick();
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const listener of others) process.on('uncaughtException', listener);
  }
  expect(order.toSorted()).toEqual(['after it', 'second']);
  expect(thrown).toHaveLength(2);
});
