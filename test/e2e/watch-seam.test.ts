import { describe, expect, it } from 'vitest';
import { addCluster, PUBLIC_LIST, removeCluster, revisionNow, revisionOf, touch } from './support/fleet.ts';
import type { Server } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';
import { Watch, type WatchEvent } from './support/watch.ts';

let server: Server;
const NAMES = Array.from({ length: 20 }, (_, index) => `c-${String(index).padStart(2, '0')}`);

beforeAllWithServer(async (shared) => {
  server = shared;
});

const versionOf = ({ object }: WatchEvent): number => Number(object.metadata.resourceVersion);

let times = 0;

/** Eight writers write at once while `during` runs. Returns all versions that were written, in order. */
async function whileWriting(during: () => Promise<void>): Promise<number[]> {
  const versions: number[] = [];
  // A note that differs in each call: an unchanged object is not written, and keeps its version.
  const time = ++times;
  let done = false;
  const write = async (worker: number): Promise<void> => {
    for (let round = 0; !done; round++) {
      const name = NAMES[(round * 8 + worker) % NAMES.length] ?? '';
      versions.push(await touch(server, name, `${time}/${worker}/${round}`));
    }
  };
  const workers = Array.from({ length: 8 }, (_, worker) => write(worker));
  try {
    await during();
  } finally {
    done = true;
    await Promise.all(workers);
  }
  return versions.sort((a, b) => a - b);
}

/** The versions that each event of a watch carries, up to the last write of all. */
const collect = async (watch: Watch, last: number): Promise<number[]> =>
  (await watch.until((event) => event.type !== 'BOOKMARK' && versionOf(event) >= last))
    .filter(({ type }) => type !== 'BOOKMARK')
    .map(versionOf);

describe('B4: where a list or the initial events end, the watch begins', () => {
  it('on an empty, quiet store: list, watch, create', async () => {
    const list = await server.call('GET', PUBLIC_LIST);
    expect(list.json.items).toEqual([]);
    const watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${revisionOf(list)}`);
    const made = await addCluster(server, 'first');
    expect((await watch.take(1)).map(versionOf)).toEqual([made]);
    watch.close();
    await removeCluster(server, 'first');
    for (const name of NAMES) await addCluster(server, name);
  });

  it('list, then watch from its version, during writes: no gap, nothing twice', async () => {
    const seams: { listed: Map<string, number>; from: number; watch: Watch }[] = [];
    const written = await whileWriting(async () => {
      for (let round = 0; round < 40; round++) {
        const list = await server.call('GET', PUBLIC_LIST);
        const listed = new Map<string, number>();
        for (const { metadata } of list.json.items) listed.set(metadata.name, Number(metadata.resourceVersion));
        const from = Number(revisionOf(list));
        const watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${from}`);
        seams.push({ listed, from, watch });
      }
    });
    const last = written.at(-1) ?? 0;
    for (const { listed, from, watch } of seams) {
      expect(await collect(watch, last)).toEqual(written.filter((version) => version > from));
      // The list holds the last write up to its version, and none after it.
      const included = written.filter((version) => version <= from);
      if (included.length > 0) expect(Math.max(...listed.values())).toBe(included.at(-1));
      watch.close();
    }
  });

  it('initial events, their mark, then live, during writes: no gap, nothing twice', async () => {
    const watches: Watch[] = [];
    const written = await whileWriting(async () => {
      for (let round = 0; round < 40; round++) {
        watches.push(await Watch.open(server, `${PUBLIC_LIST}?watch=true&allowWatchBookmarks=true`));
      }
    });
    const last = await touch(server, 'c-00', 'the last');
    written.push(last);
    for (const watch of watches) {
      const initial = await watch.until(({ type }) => type === 'BOOKMARK');
      const mark = versionOf(initial.at(-1) as WatchEvent);
      const state = initial.slice(0, -1);
      expect(state.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual(
        NAMES.map((name) => `ADDED ${name}`),
      );
      for (const event of state) expect(versionOf(event)).toBeLessThanOrEqual(mark);
      expect(await collect(watch, last)).toEqual(written.filter((version) => version > mark));
      watch.close();
    }
  });

  it('resumed again and again, from the version of each last event: every write once, in order', async () => {
    const start = await revisionNow(server);
    const seen: number[] = [];
    let from = start;
    const written = await whileWriting(async () => {
      for (let round = 0; round < 30; round++) {
        const watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${from}`);
        for (const event of await watch.take(1 + (round % 7))) seen.push(versionOf(event));
        watch.close();
        from = seen.at(-1) ?? from;
      }
    });
    expect(seen).toEqual(written.filter((version) => version <= from));
  });
});
