import { setImmediate as tick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { CONFLICT, WriteQueue } from './write-queue.ts';

/** A write that ends when `end` is called. */
function openWrite(queue: WriteQueue, key: string, name: string, order: string[], signal?: AbortSignal) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const attempt = async (): Promise<string> => {
    order.push(name);
    await promise;
    return name;
  };
  return { done: queue.run(key, attempt, signal === undefined ? undefined : { signal }), end };
}

it('writes to one object wait for each other, in order; those to others do not', async () => {
  const queue = new WriteQueue();
  const order: string[] = [];
  const first = openWrite(queue, '/a', 'first', order);
  const second = openWrite(queue, '/a', 'second', order);
  const third = openWrite(queue, '/a', 'third', order);
  const other = openWrite(queue, '/b', 'other', order);
  await tick();
  expect(order).toEqual(['first', 'other']);
  for (const { end } of [third, second, other, first]) end();
  expect(await Promise.all([first.done, second.done, third.done, other.done])).toHaveLength(4);
  expect(order).toEqual(['first', 'other', 'second', 'third']);
});

it('a request that ends while it waits leaves the queue, and the one behind it takes its place', async () => {
  const queue = new WriteQueue();
  const order: string[] = [];
  const abort = new AbortController();
  const first = openWrite(queue, '/a', 'first', order);
  const gone = openWrite(queue, '/a', 'gone', order, abort.signal);
  const last = openWrite(queue, '/a', 'last', order);
  abort.abort();
  await expect(gone.done).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
  await expect(openWrite(queue, '/a', 'late', order, abort.signal).done).rejects.toThrow();
  first.end();
  last.end();
  await last.done;
  expect(order).toEqual(['first', 'last']);
});

it('an attempt is repeated after a conflict, before those that wait, until its request has ended', async () => {
  const queue = new WriteQueue();
  const order: string[] = [];
  const attempts = [CONFLICT, CONFLICT, 'stored'] as const;
  const first = queue.run('/a', async () => {
    order.push('first');
    return attempts[order.length - 1] ?? 'stored';
  });
  const second = queue.run('/a', async () => order.push('second'));
  expect(await first).toBe('stored');
  await second;
  expect(order).toEqual(['first', 'first', 'first', 'second']);

  const abort = new AbortController();
  const hopeless = queue.run('/a', async () => CONFLICT, { signal: abort.signal });
  const behind = queue.run('/a', async () => 'stored');
  setTimeout(() => abort.abort(), 20);
  await expect(hopeless).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
  expect(await behind).toBe('stored');
});
