import { expect, it } from 'vitest';
import type { Change, Store } from '../../src/storage/contract.ts';
import { create, type StoreUnderTest } from './harness.ts';
import { tracedEngine } from './traced-engine.ts';

const put = (modRevision: number): Change => ({
  type: 'put',
  key: `/a/${modRevision}`,
  value: new Uint8Array(),
  modRevision,
  createRevision: modRevision,
});

/** A store that answers as the test says. */
function engineOf(answers: { readonly revision?: number; readonly watches?: number[][] }): StoreUnderTest {
  const watches = answers.watches ?? [];
  const store = {
    write: async () => ({ ok: true, revision: 5 }),
    revision: async () => answers.revision ?? 5,
    async *watch() {
      yield { changes: (watches.shift() ?? []).map(put), revision: 9 };
    },
  } as unknown as Store;
  return {
    open: async () => store,
    reopen: async () => store,
    seedRevision: async () => store,
    destroy: async () => {},
  };
}

it.each([
  { name: 'a read from before an acknowledged write', answers: { revision: 4 }, found: 'a read lacks a write' },
  {
    name: 'a watch that skips a change',
    answers: {
      watches: [
        [3, 4, 5],
        [3, 5],
      ],
    },
    found: 'an event is not applied',
  },
  { name: 'a watch that repeats a change', answers: { watches: [[3, 3]] }, found: 'an event is applied twice' },
  {
    name: 'what a store promises',
    answers: {
      watches: [
        [3, 4],
        [3, 4],
      ],
    },
    found: undefined,
  },
])('finds $name', async ({ answers, found }) => {
  const engine = tracedEngine(engineOf(answers));
  const store = await engine.open();
  await create(store, '/a/5', 'x');
  await store.revision();
  for (let i = 0; i < 2; i++) for await (const _ of store.watch('/a/', 2, new AbortController().signal));
  const destroyed = engine.destroy(store);
  if (found === undefined) await destroyed;
  else await expect(destroyed).rejects.toThrow(found);
});
