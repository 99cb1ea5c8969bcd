/**
 * The process that is killed: several writers that create, change and delete keys of a real store, and one that
 * compacts. Each prints its intents and acknowledgements. It never ends by itself.
 */
import { writeSync } from 'node:fs';
import type { Revision } from '../../src/storage/contract.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { checkedValue } from './checked-value.ts';
import type { Line } from './journal.ts';
import { seededRandom } from './random.ts';

const WRITERS = 8;
const KEYS_EACH = 12;

const [file = '', seedText = '0'] = process.argv.slice(2);
const seed = Number(seedText);

/** Synchronously to the pipe: a buffer of the process would be lost by the kill. */
function print(line: Line): void {
  let rest = Buffer.from(`${JSON.stringify(line)}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      // The non-blocking pipe is full.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    }
  }
}

const store = await openSqliteStore({ file });
const current = new Map<string, Revision>();
for (const { key, modRevision } of (await store.list({ prefix: '/' })).items) current.set(key, modRevision);

async function write(writer: number): Promise<never> {
  const random = seededRandom(seed * 1000 + writer);
  for (let count = 0; ; count++) {
    const key = `/crash/${writer}/${Math.floor(random() * KEYS_EACH)}`;
    const modRevision = current.get(key);
    const deletes = modRevision !== undefined && random() < 0.3;
    const nonce = deletes ? null : `${seed}-${writer}-${count}`;
    // Mostly small; sometimes many pages, where a write could be torn.
    const padding = Math.floor(random() ** 4 * 60_000);
    print({ type: 'intent', key, nonce });
    const result = await store.write({
      key,
      value: nonce === null ? null : checkedValue(key, nonce, padding),
      expect: modRevision === undefined ? { absent: true } : { modRevision },
    });
    if (!result.ok) throw new Error(`${key} was changed by another writer`);
    print({ type: 'ack', key, nonce, revision: result.revision });
    if (deletes) current.delete(key);
    else current.set(key, result.revision);
  }
}

async function compact(): Promise<never> {
  const random = seededRandom(seed * 1000 + WRITERS);
  for (;;) {
    const revision = Math.max(1, (await store.revision()) - Math.floor(random() * 50));
    await store.compact(revision);
    print({ type: 'compacted', revision });
    // Some writes happen in between.
    for (let i = 0; i < 10; i++) await store.get('/none');
  }
}

await Promise.all([...Array.from({ length: WRITERS }, (_, writer) => write(writer)), compact()]);
