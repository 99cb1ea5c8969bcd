import { expect, it } from 'vitest';
import { IMPORT_KEY, type Revision, StorageError, type Store, type Write } from '../../src/storage/contract.ts';
import type { ArchiveItem } from '../../src/transfer/archive.ts';
import { importStore } from '../../src/transfer/import-store.ts';
import { bytes, compactedRevision, create, remove, text } from './harness.ts';
import type { Fixture } from './store-conformance.ts';

const ITEMS: readonly ArchiveItem[] = Array.from({ length: 150 }, (_, i) => ({
  key: `/registry/a${i % 3 === 0 ? '/deeper' : ''}/${i}`,
  value: bytes(`value ${i}`),
  createRevision: 150 - i,
}));
const ARCHIVE = { revision: 5_000_000, items: ITEMS };

/** The outcome of a write. `happen` carries it out. */
type Fault = (happen: () => Promise<unknown>, write: Write) => Promise<unknown>;

const noAnswer = (): StorageError => new StorageError('unknown-outcome', 'no answer');

/** A store whose writes fail as `fault` says. */
function faulty(store: Store, fault: Fault): Store {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const call = (...args: unknown[]) => value.apply(target, args);
      return name === 'write' ? (write: Write) => fault(() => call(write), write) : call;
    },
  });
}

export function importPromises(fixture: Fixture): void {
  /** Opens the store of the test again and again, as an import does. */
  const target = (fault: Fault = (happen) => happen()) => ({
    open: async () => {
      fixture.store = await fixture.engine.reopen(fixture.store);
      return faulty(fixture.store, fault);
    },
    seedRevision: async (revision: Revision) => {
      fixture.store = await fixture.engine.seedRevision(fixture.store, revision);
    },
  });
  const reopened = async (): Promise<Store> => {
    fixture.store = await fixture.engine.reopen(fixture.store);
    return fixture.store;
  };
  const contents = async (store: Store): Promise<[string, string | undefined][]> =>
    (await store.list({ prefix: '/registry/' })).items.map(({ key, value }) => [key, text(value)]);
  const imported = ITEMS.map(({ key, value }): [string, string | undefined] => [key, text(value)]).toSorted(
    ([a], [b]) => (a < b ? -1 : 1),
  );

  /** The first of these writes fails as `fault` says. */
  const first = (fault: Fault): Fault => {
    const seen = new Set<string>();
    return (happen, write) => {
      const name = `${write.key} ${write.value === null}`;
      if (seen.has(name)) return happen();
      seen.add(name);
      return fault(happen, write);
    };
  };

  it.each<[string, Fault]>([
    [
      'happened without an answer',
      first(async (happen) => {
        await happen();
        throw noAnswer();
      }),
    ],
    [
      'did not happen',
      first(async () => {
        throw noAnswer();
      }),
    ],
  ])('repeats writes that %s, each key once', async (_, fault) => {
    const end = await importStore(target(fault), ARCHIVE);
    const store = await reopened();
    expect(await contents(store)).toEqual(imported);
    expect(await store.get(IMPORT_KEY)).toBeUndefined();
    expect(end).toBeGreaterThan(ARCHIVE.revision);
    const { items } = await store.list({ prefix: '/registry/' });
    for (const { createRevision, modRevision } of items) {
      expect(createRevision).toBeGreaterThan(ARCHIVE.revision);
      expect(modRevision).toBe(createRevision);
    }
    // No watch can begin within the import: another import of the same file gives the same revisions to other keys.
    const last = Math.max(...items.map(({ modRevision }) => modRevision));
    expect((await compactedRevision(store)) + 1).toBeGreaterThanOrEqual(last);
  });

  it('a write that happens after the end of the import changes nothing', async () => {
    const [{ key } = { key: '' }] = ITEMS;
    const late: Write[] = [];
    await importStore(
      target((happen, write) => {
        if (write.key === key) late.push(write);
        return happen();
      }),
      ARCHIVE,
    );
    expect(late.length).toBeGreaterThan(0);
    const store = await reopened();
    const found = await store.get(key);
    await remove(store, key, found?.modRevision ?? 0);
    for (const write of late) expect(await store.write(write)).toMatchObject({ ok: false, key: IMPORT_KEY });
    expect(await store.get(key)).toBeUndefined();
  });

  it('ends when another import takes the mark', async () => {
    let writes = 0;
    const taken = importStore(
      target(async (happen) => {
        writes += 1;
        if (writes === 2) {
          const mark = await fixture.store.get(IMPORT_KEY);
          const expect = { modRevision: mark?.modRevision ?? 0 };
          await fixture.store.write({ key: IMPORT_KEY, value: bytes('another'), expect });
        }
        return happen();
      }),
      ARCHIVE,
    );
    await expect(taken).rejects.toThrow(/another import/);
  });

  it('refuses a store that has keys, and changes nothing in it', async () => {
    const revision = await create(fixture.store, '/registry/kept', 'kept');
    await expect(importStore(target(), ARCHIVE)).rejects.toThrow('the store is not empty');
    const store = await reopened();
    expect(await contents(store)).toEqual([['/registry/kept', 'kept']]);
    expect([await store.get(IMPORT_KEY), await store.revision()]).toEqual([undefined, revision]);
  });

  /** An import that ends before its mark is removed. */
  const interrupted = async (items: readonly ArchiveItem[]): Promise<void> => {
    const fault: Fault = async (happen, write) => {
      if (write.key === IMPORT_KEY && write.value === null) throw new Error('interrupted');
      return happen();
    };
    await expect(importStore(target(fault), { revision: 1, items })).rejects.toThrow('interrupted');
  };
  const stale = (count: number): ArchiveItem[] =>
    Array.from({ length: count }, (_, i) => ({
      key: `/registry/stale/${i}`,
      value: bytes('x'),
      createRevision: i + 1,
    }));

  it('starts over after one that was interrupted, and removes all its keys', async () => {
    await interrupted(stale(1_100));
    const fault = first(async (happen) => {
      await happen();
      throw noAnswer();
    });
    await importStore(target(fault), ARCHIVE);
    expect(await contents(await reopened())).toEqual(imported);
  });

  it('ends when others change a key of an interrupted import, or start over at the same time', async () => {
    await interrupted(stale(1));
    const change = async (key: string): Promise<void> => {
      const expected = { modRevision: (await fixture.store.get(key))?.modRevision ?? 0 };
      await fixture.store.write({ key, value: bytes('another'), expect: expected });
    };
    for (const changed of ['/registry/stale/0', IMPORT_KEY]) {
      const fault = first(async (happen, write) => {
        if (write.key === changed) await change(changed);
        return happen();
      });
      await expect(importStore(target(fault), ARCHIVE)).rejects.toThrow(/another import/);
    }
    const seeded = {
      ...target(),
      seedRevision: async (revision: Revision) => {
        await target().seedRevision(revision);
        await reopened();
        await change(IMPORT_KEY);
      },
    };
    await expect(importStore(seeded, ARCHIVE)).rejects.toThrow(/another import/);
    expect(await contents(await reopened())).toEqual([]);
  });
}
