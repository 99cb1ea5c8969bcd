import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSqliteStore } from '../storage/sqlite/sqlite-store.ts';
import { runStoreCommand, type StoreTask } from './store-command.ts';

const inFolder = (name: string): string => join(folder, name);

const folder = await mkdtemp(join(tmpdir(), 'clusterpass-store-'));
const store = await openSqliteStore({ file: inFolder('from.db') });
const value = Buffer.from('{}');
for (const name of ['a', 'b', 'c']) await store.write({ key: `/internal/${name}`, value, expect: { absent: true } });
await store.close();

/** Runs a task on a database. Returns each wait as it begins, and what it says in the end. */
async function waitsOf(task: StoreTask, database: string, file?: string): Promise<[begun: string[], ended: string[]]> {
  const waits: { what: () => string; begun: string }[] = [];
  const waitFor = (what: () => string) => {
    waits.push({ what, begun: what() });
    return () => {};
  };
  const written: string[] = [];
  const output = { write: (text: string) => written.push(text) };
  const client = { listAt: () => Promise.reject(new Error('no server')), describeError: () => undefined };
  const flags = { store: `sqlite:${inFolder(database)}`, ...(file === undefined ? {} : { file: inFolder(file) }) };
  const own = { env: {}, cwd: folder, out: output, err: output, progress: { waitFor } };
  expect(await runStoreCommand(task, flags, client, own), written.join('')).toBe(0);
  return [waits.map(({ begun }) => begun), waits.map(({ what }) => what())];
}

it('every task says how far it is', async () => {
  const [from, to, copy] = [inFolder('from.db'), inFolder('to.db'), inFolder('copy.db')];
  expect(await waitsOf('export', 'from.db', 'archive')).toEqual([
    [from, 'the store: 0 keys read'],
    [from, 'the store: 3 keys read'],
  ]);
  // It is opened for each of its three steps.
  const opened = [to, to, to];
  expect(await waitsOf('import', 'to.db', 'archive')).toEqual([
    ['the file: 0 MiB read', 'the store: 0 of 3 keys written', ...opened],
    ['the file: 0 MiB read', 'the store: 3 of 3 keys written', ...opened],
  ]);
  expect(await waitsOf('check', 'to.db')).toEqual([
    [to, 'the store: 0 keys read'],
    [to, 'the store: 3 keys read'],
  ]);
  expect(await waitsOf('backup', 'to.db', 'copy.db')).toEqual([
    [copy, to],
    [copy, to],
  ]);
});
