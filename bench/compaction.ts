/**
 * B17: a day of a hundred writes a second, as fast as the store takes them. Store and compactor are the real ones with
 * their real settings; only the compactor's clock is ours: a second of it passes with every hundred writes, so there are
 * as many revisions between two compactions, and as many that have to be kept, as in a day on the clock.
 *
 *   npm run bench -- compaction [hours] [objects]
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CompactorClock, startCompactor } from '../src/storage/compactor.ts';
import { openSqliteStore } from '../src/storage/sqlite/sqlite-store.ts';

const [hours = '24', objects = '10000'] = process.argv.slice(2);
const WRITES_PER_SECOND = 100;
const WRITES = Math.round(Number(hours) * 3_600 * WRITES_PER_SECOND);
/** As many as may be waiting at once in a busy desk: they share commits. */
const WRITERS = 256;
/** One write in so many deletes what is there; the next one to the same key makes it anew. */
const DELETES = 10;
const VALUE_BYTES = { least: 500, most: 3_500 };
const LOOK_EVERY = 500;
const WAL_GOAL = 64 * 1024 ** 2;
/** As the program is composed with SQLite (src/server/compose.ts). */
const INTERVAL_MS = 10_000;
const SEED = 20_260_101;

const mb = (bytes: number): string => (bytes / 1024 ** 2).toFixed(1);

/** The same day again with every run (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Time is what has been written. Writers wait where the compactor is due and not yet done with its last round. */
class WrittenClock implements CompactorClock {
  written = 0;
  #due = 0;
  #sleeper: { readonly ms: number; readonly wake: () => void } | undefined;
  #asleep = Promise.withResolvers<void>();

  now(): number {
    return (this.written / WRITES_PER_SECOND) * 1_000;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      this.#sleeper = { ms, wake: resolve };
      this.#asleep.resolve();
    });
  }

  async tick(): Promise<void> {
    while (this.now() >= this.#due) {
      const sleeper = this.#sleeper;
      if (sleeper === undefined) {
        await this.#asleep.promise;
        continue;
      }
      this.#sleeper = undefined;
      this.#asleep = Promise.withResolvers();
      // From when it was due: on the clock a round takes far less than that, here as long as many writes.
      this.#due += sleeper.ms;
      sleeper.wake();
    }
    this.written += 1;
  }
}

interface Slot {
  readonly key: string;
  revision: number;
  bytes: number;
}

const folder = mkdtempSync(join(tmpdir(), 'clusterpass-compaction-'));
const file = join(folder, 'store.db');
const sizeOf = (name: string): number => statSync(name, { throwIfNoEntry: false })?.size ?? 0;
const warnings: string[] = [];
const warn = (_: object, message: string): void => void warnings.push(message);
const clock = new WrittenClock();
const random = createRandom(SEED);
const store = await openSqliteStore({ file, logger: { info: () => {}, warn } });
const compactor = startCompactor({ store, clock, intervalMs: INTERVAL_MS, logger: { warn } });

const slots = Array.from({ length: Number(objects) }, (_, index): Slot => {
  const key = `/registry/clusterregistry.k8s.io/clusters/cluster-${String(index).padStart(6, '0')}`;
  return { key, revision: 0, bytes: 0 };
});
const source = Buffer.alloc(VALUE_BYTES.most, 'a cluster, as it is stored ');
/** What was written with each revision; only the newest are kept here as well. */
const sizes = new Map<number, number>();
let live = 0;
let kept = 0;
let forgotten = 0;

async function writeOne(slot: Slot): Promise<void> {
  const gone = slot.revision === 0;
  const length = Math.floor(VALUE_BYTES.least + random() * (VALUE_BYTES.most - VALUE_BYTES.least));
  const value = !gone && random() < 1 / DELETES ? null : source.subarray(0, length);
  const bytes = value === null ? 0 : slot.key.length + length;
  const expect = gone ? ({ absent: true } as const) : { modRevision: slot.revision };
  const { ok, revision } = await store.write({ key: slot.key, value, expect });
  if (!ok) throw new Error(`${slot.key} was not as expected`);
  live += bytes - slot.bytes;
  slot.revision = value === null ? 0 : revision;
  slot.bytes = bytes;
  sizes.set(revision, slot.key.length + (value?.length ?? 0));
  kept += slot.key.length + (value?.length ?? 0);
}

interface Most {
  readonly file: number;
  readonly wal: number;
  /** Of the file, beside what it may be: twice what is live and what has to be kept. */
  readonly share: number;
  /** The same, where only what is live may be there twice. */
  readonly strict: number;
}
const NONE: Most = { file: 0, wal: 0, share: 0, strict: 0 };
let inHour = NONE;
let ever = NONE;

async function look(): Promise<void> {
  const compacted = await store.compactedRevision();
  for (; forgotten < compacted; forgotten += 1) {
    kept -= sizes.get(forgotten + 1) ?? 0;
    sizes.delete(forgotten + 1);
  }
  const now = { file: sizeOf(file), wal: sizeOf(`${file}-wal`) };
  // While the first objects are made there is next to nothing in it, and an empty file has its pages too.
  const filled = clock.written >= slots.length;
  const most = (before: Most): Most => ({
    file: Math.max(before.file, now.file),
    wal: Math.max(before.wal, now.wal),
    share: filled ? Math.max(before.share, now.file / (2 * (live + kept))) : 0,
    strict: filled ? Math.max(before.strict, now.file / (2 * live + kept)) : 0,
  });
  inHour = most(inHour);
  ever = most(ever);
}

console.log(`B17: ${WRITES} writes (${hours} h at ${WRITES_PER_SECOND}/s), ${slots.length} objects; sizes in MiB`);
console.log(
  '| hour | live | window | file, most | of 2 x (live + window) | of 2 x live + window | WAL, most | compacted to | of revision |',
);
console.log('|---|---|---|---|---|---|---|---|---|');
async function report(hour: number): Promise<void> {
  const [compacted, revision] = [await store.compactedRevision(), await store.revision()];
  const [share, strict] = [inHour.share, inHour.strict].map((part) => `${(part * 100).toFixed(0)} %`);
  const cells = [hour, mb(live), mb(kept), mb(inHour.file), share, strict, mb(inHour.wal), compacted, revision];
  console.log(`| ${cells.join(' | ')} |`);
  inHour = NONE;
}

const begun = performance.now();
const hourly = 3_600 * WRITES_PER_SECOND;
let claimed = 0;
/** Each has keys of its own, so none of them is ever refused. */
async function writer(number: number): Promise<void> {
  const own = slots.filter((_, index) => index % WRITERS === number);
  while (claimed < WRITES) {
    claimed += 1;
    const count = claimed;
    await clock.tick();
    await writeOne(own[Math.floor(random() * own.length)] as Slot);
    if (count % LOOK_EVERY === 0) await look();
    if (count % hourly === 0) await report(count / hourly);
  }
}
await Promise.all(Array.from({ length: WRITERS }, (_, number) => writer(number)));
await look();
await compactor.stop();
await store.close();

const seconds = (performance.now() - begun) / 1000;
const cpu = process.cpuUsage();
const used = ((cpu.user + cpu.system) / 1e6).toFixed(0);
console.log(
  `took        ${seconds.toFixed(0)} s, ${used} s of a processor, ${mb(process.memoryUsage.rss())} MiB resident`,
);
console.log(
  `file        ${mb(ever.file)} MiB at most, ${(ever.share * 100).toFixed(0)} % of 2 x (live + window), ${(ever.strict * 100).toFixed(0)} % of 2 x live + window`,
);
console.log(`WAL         ${mb(ever.wal)} MiB at most, of ${mb(WAL_GOAL)}`);
console.log(`warnings    ${warnings.length}${warnings.length > 0 ? `: ${[...new Set(warnings)].join('; ')}` : ''}`);
const again = performance.now();
const reopened = await openSqliteStore({ file });
const { items } = await reopened.list({ prefix: '/registry/' });
const right = items.length === slots.filter(({ revision }) => revision > 0).length;
await reopened.close();
console.log(
  `restart     ${(performance.now() - again).toFixed(0)} ms, ${items.length} objects, ${right ? 'all' : 'NOT those'} that are live`,
);
rmSync(folder, { recursive: true, force: true });
const holds = ever.share <= 1 && ever.wal <= WAL_GOAL && warnings.length === 0 && right;
console.log(holds ? 'holds' : 'does not hold (file at most 2 x (live + window), WAL at most 64 MiB, no warning)');
process.exit(holds ? 0 : 1);
