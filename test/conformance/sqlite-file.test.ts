/** What the SQLite engine promises beyond the contract: the file, its owner, its size and its disk. */
import { execFile } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StorageError, type Store } from '../../src/storage/contract.ts';
import { openSqliteStore, type SqliteStoreOptions } from '../../src/storage/sqlite/sqlite-store.ts';
import { compactedRevision, create, failure, readable, remove, text, update, watchUntil } from './harness.ts';

let directory: string;
let file: string;
const opened: Store[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'clusterpass-sqlite-'));
  file = join(directory, 'store.db');
});

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

async function open(options: Partial<SqliteStoreOptions> = {}): Promise<Store> {
  const store = await openSqliteStore({ file, ...options });
  opened.push(store);
  return store;
}

async function refusal(options: Partial<SqliteStoreOptions> = {}): Promise<StorageError> {
  const error = await open(options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof StorageError)) throw new Error(`expected a refusal, got ${error}`);
  return error;
}

function inFile<T>(use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file);
  try {
    return use(db);
  } finally {
    db.close();
  }
}

const pragma = (name: string) => inFile((db) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);

/** The database and its WAL. */
const size = (): number => statSync(file).size + (existsSync(`${file}-wal`) ? statSync(`${file}-wal`).size : 0);

async function secondProcess(): Promise<{ opened?: true; code?: string; message?: string }> {
  const program = fileURLToPath(new URL('./open-store.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, file]);
  return JSON.parse(stdout);
}

describe('B19: the owner of the file', () => {
  it('a second process is refused until the first has closed', async () => {
    const store = await open();
    await create(store, '/a/x', 'one');
    expect(await secondProcess()).toEqual({
      code: 'in-use',
      message: `${file} is in use by another process: stop it, or choose another --data-dir / --store`,
    });
    expect(text((await store.get('/a/x'))?.value)).toBe('one');
    await store.close();
    expect(await secondProcess()).toEqual({ opened: true });
  });

  it('a second open in the same process is refused, and does not release the lock', async () => {
    await open();
    expect(await refusal()).toMatchObject({ code: 'in-use' });
    expect(await secondProcess()).toMatchObject({ code: 'in-use' });
  });

  it('has mode 0600, and no other files are left after close', async () => {
    const store = await open();
    await create(store, '/a/x', 'one');
    for (const name of [file, `${file}-wal`]) expect(statSync(name).mode & 0o077, name).toBe(0);
    await store.close();
    expect(readdirSync(directory)).toEqual(['store.db']);
  });
});

describe('a file that cannot be used', () => {
  it('of a newer release is unreadable, and is not changed', async () => {
    await (await open()).close();
    inFile((db) => db.exec('PRAGMA user_version = 99'));
    const error = await refusal();
    expect(error.code).toBe('unreadable');
    expect(error.message).toMatch(/written by a newer release \(schema 99, this one knows 1\)/);
    expect(pragma('user_version')).toBe(99);
  });

  it('of another program is unreadable, and is not changed', async () => {
    inFile((db) => db.exec('CREATE TABLE notes (line TEXT)'));
    expect(await refusal()).toMatchObject({
      code: 'unreadable',
      message: expect.stringContaining('not a Clusterpass'),
    });
    expect(pragma('journal_mode')).toBe('delete');
  });

  it('that is not a database is unreadable', async () => {
    writeFileSync(file, 'this is not a database. '.repeat(1000));
    expect(await refusal()).toMatchObject({ code: 'unreadable' });
  });

  it('that does not exist and must is unavailable, and is not created', async () => {
    expect(await refusal({ existing: true })).toMatchObject({ code: 'unavailable' });
    expect(readdirSync(directory)).toEqual([]);
  });

  it('with a damaged page is unreadable', async () => {
    const store = await open();
    for (let i = 0; i < 50; i++) await create(store, `/a/${i}`, 'x'.repeat(2000));
    await store.close();
    const descriptor = openSync(file, 'r+');
    for (let page = 3; page < 20; page++) writeSync(descriptor, Buffer.alloc(2000, 0x5a), 0, 2000, page * 4096);
    closeSync(descriptor);
    expect(await refusal()).toMatchObject({
      code: 'unreadable',
      message: expect.stringContaining(`${file} is damaged: `),
    });
  });

  it('in a directory that does not exist is unavailable', async () => {
    file = join(directory, 'nowhere', 'store.db');
    expect(await refusal()).toMatchObject({ code: 'unavailable' });
  });
});

describe('B17: the file', () => {
  it('has the application id of Clusterpass, and the settings to survive a power cut and to shrink', async () => {
    await (await open()).close();
    expect(pragma('application_id')).toBe(0x43506173);
    expect(pragma('user_version')).toBe(1);
    expect(pragma('journal_mode')).toBe('wal');
    expect(pragma('auto_vacuum')).toBe(2);
    expect(pragma('page_size')).toBe(16_384);
  });

  it('is smaller after compaction, and so is its WAL', async () => {
    const store = await open();
    let last = await create(store, '/a/x', 'start');
    for (let i = 0; i < 2000; i++) last = await update(store, '/a/x', last, `${i} `.repeat(1000));
    const before = size();
    await store.compact(last);
    expect(before).toBeGreaterThan(8_000_000);
    expect(size()).toBeLessThan(before / 50);
    expect(statSync(`${file}-wal`).size).toBe(0);
    expect(await store.list({ prefix: '/a/' })).toMatchObject({ items: [{ modRevision: last }] });
  });

  it('does not bring a deleted key back at any step of a compaction', async () => {
    const store = await open();
    const made = await create(store, '/a/x', 'one');
    await Promise.all(Array.from({ length: 2500 }, (_, i) => create(store, `/b/${i}`, 'x')));
    const deleted = await remove(store, '/a/x', made);
    let compacted = false;
    const compacting = store.compact(deleted).then(() => {
      compacted = true;
    });
    while (!compacted) expect(await store.get('/a/x')).toBeUndefined();
    await compacting;
    expect(await store.get('/a/x')).toBeUndefined();
    expect((await store.list({ prefix: '/a/' })).items).toEqual([]);
  });

  it('an interrupted compaction is completed by the next', async () => {
    const store = await open();
    let last = await create(store, '/a/x', 'start');
    for (let i = 0; i < 3000; i++) last = await update(store, '/a/x', last, 'x'.repeat(500));
    const cutOff = failure(store.compact(last));
    await store.close();
    expect(await cutOff).toMatchObject({ code: 'closed' });
    const again = await open();
    await again.compact(last);
    await again.close();
    expect(inFile((db) => db.prepare('SELECT count(*) AS rows FROM log').get())).toEqual({ rows: 1 });
  });

  it('a compaction that fails does not prevent the next one', async () => {
    const store = await open();
    const made = await create(store, '/a/x', 'one');
    expect(await failure(store.compact(made + 5))).toMatchObject({ code: 'future' });
    await store.compact(made);
    expect(await compactedRevision(store)).toBe(made - 1);
  });
});

describe('a full disk', () => {
  it('fails writes with unavailable but not reads, and writes succeed when there is room again', async () => {
    const messages: string[] = [];
    const note = (_: object, message: string) => messages.push(message);
    const store = await open({ maxBytes: 200_000, logger: { info: note, warn: note } });
    let last = await create(store, '/a/x', 'start');
    const write = () => store.write({ key: '/a/x', value: new Uint8Array(10_000), expect: { modRevision: last } });
    const fill = async () => {
      for (;;) last = (await write()).revision;
    };
    expect(await failure(fill())).toMatchObject({ code: 'unavailable' });

    // All writes of a transaction fail, and none of them exists.
    const batch = await Promise.allSettled(
      Array.from({ length: 5 }, (_, i) =>
        store.write({ key: `/b/${i}`, value: new Uint8Array(50_000), expect: { absent: true } }),
      ),
    );
    expect(batch.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
    expect((await store.list({ prefix: '/b/' })).items).toEqual([]);
    expect(await store.revision()).toBe(last);
    expect((await store.get('/a/x'))?.modRevision).toBe(last);

    await store.compact(last);
    const next = await write();
    expect(next).toMatchObject({ ok: true, revision: last + 1 });
    expect((await watchUntil(store, '/', last, last + 1)).map(({ key }) => key)).toEqual(['/a/x']);
    expect(messages).toEqual(['store opened', 'the store does not accept writes', 'the store accepts writes again']);
  });
});

describe('a watch that does not consume', () => {
  const tailLimits = { changes: 10, bytes: 1_000_000 };

  it('reads the log when its queue is full, and misses no change', async () => {
    const store = await open({ tailLimits });
    const start = await store.revision();
    const stop = new AbortController();
    const watching = store.watch('/a/', start, stop.signal)[Symbol.asyncIterator]();
    const first = watching.next();
    const written = [await create(store, '/a/first', 'x')];
    await first;
    for (let i = 0; i < 100; i++) written.push(await create(store, `/a/${i}`, `${i}`));
    const seen: number[] = [(await first).value.changes[0].modRevision];
    while (seen.length < written.length) {
      const { value } = await watching.next();
      seen.push(...value.changes.map((change: { modRevision: number }) => change.modRevision));
    }
    // It then follows the tail again.
    const next = watching.next();
    const last = await create(store, '/a/last', 'x');
    expect((await next).value.changes.map(readable)).toMatchObject([{ mod: last }]);
    stop.abort();
    expect(seen).toEqual(written);
  });

  it('fails with compacted when the changes that it has to read are gone', async () => {
    const store = await open({ tailLimits });
    const watching = store.watch('/a/', await store.revision(), new AbortController().signal)[Symbol.asyncIterator]();
    const first = watching.next();
    await create(store, '/a/first', 'x');
    await first;
    let last = 0;
    for (let i = 0; i < 20; i++) last = await create(store, `/a/${i}`, 'x');
    await store.compact(last);
    expect(await failure(watching.next())).toEqual({ code: 'compacted' });
  });
});

it('refuses writes while its file is removed, and accepts them when it is back', async () => {
  const store = await open();
  await create(store, '/a/1', 'before');
  renameSync(file, `${file}.away`);
  expect(await failure(create(store, '/a/2', 'lost?'))).toMatchObject({ code: 'unavailable' });
  await expect(store.get('/a/1')).rejects.toThrow(/was removed or replaced/);
  renameSync(`${file}.away`, file);
  await create(store, '/a/2', 'after');
  expect(text((await store.get('/a/2'))?.value)).toBe('after');
});
