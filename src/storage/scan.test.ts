import { describe, expect, it } from 'vitest';
import type { KeyValue, ListRequest, ListResult } from './contract.ts';
import { scan } from './scan.ts';

const keyOf = (index: number): string => `/things/${String(index).padStart(7, '0')}`;

/** A store of so many items, whose sizes the test decides; it records the requests. */
function storeOf(count: number, bytesOf: (index: number) => number) {
  const requests: ListRequest[] = [];
  const sizes: number[] = [];
  const list = async (request: ListRequest): Promise<ListResult> => {
    requests.push(request);
    const { after, limit = Number.POSITIVE_INFINITY, revision = 0 } = request;
    const first = after === undefined ? 0 : Number(after.slice(-7)) + 1;
    const end = Math.min(count, first + limit);
    const items = Array.from({ length: end - first }, (_, offset): KeyValue => {
      const value = new Uint8Array(bytesOf(first + offset));
      return { key: keyOf(first + offset), value, createRevision: 1, modRevision: 1 };
    });
    sizes.push(items.reduce((sum, { value }) => sum + value.length, 0));
    return { items, revision, more: end < count };
  };
  return { list, requests, sizes };
}

async function collect(store: ReturnType<typeof storeOf>): Promise<string[]> {
  const keys: string[] = [];
  for await (const items of scan(store, { prefix: '/things/', revision: 7 })) {
    for (const { key } of items) keys.push(key);
  }
  return keys;
}

describe('scan', () => {
  it.each([0, 1, 199, 200, 201, 600, 10_000])('yields each of %d items once, in order', async (count) => {
    const keys = await collect(storeOf(count, () => 10));
    expect(keys).toEqual(Array.from({ length: count }, (_, index) => keyOf(index)));
  });

  it('reads all pages at one revision', async () => {
    const store = storeOf(5_000, () => 10);
    await collect(store);
    expect(new Set(store.requests.map(({ revision }) => revision))).toEqual(new Set([7]));
  });
});
