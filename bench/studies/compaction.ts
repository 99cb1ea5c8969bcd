/**
 * B17: how large do the file and the WAL become in a day of a hundred writes a second? The writes are sent as fast as
 * the store takes them. Store and compactor are the real ones with their real settings. Only the clock of the compactor
 * is simulated: it advances by one second with every hundred writes. A compaction then finds as many revisions, and
 * must keep as many, as in a real day.
 *
 *   npm run bench -- compaction [hours] [objects]
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CompactorClock, startCompactor } from '../../src/storage/compactor.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { createRandom } from '../support/random.ts';

const [hours = '24', objects = '10000'] = process.argv.slice(2);
const WRITES_PER_SECOND = 100;
const WRITES = Math.round(Number(hours) * 3_600 * WRITES_PER_SECOND);
/** Writes at once, as in a busy server. They share commits. */
const WRITERS = 256;
if (!(Number(objects) >= WRITERS)) throw new Error(`[objects] must be at least ${WRITERS}, one for each writer`);
/** One write in so many is a deletion. The next write of the same key creates the object again. */
const DELETES = 10;
const VALUE_BYTES = { least: 500, most: 3_500 };
/** The sizes of the files are read after so many writes. */
const SIZES_EVERY = 500;
const WAL_GOAL = 64 * 1024 ** 2;
/** The interval of the compactor in the server. */
const INTERVAL_MS = 10_000;
/** The defaults of --history-retention and --history-revisions. */
const RETENTION = { retainMs: 5 * 60_000, retainRevisions: 10_000 };
const SEED = 20_260_101;

const mb = (bytes: number): string => (bytes / 1024 ** 2).toFixed(1);

/** A clock that advances with the writes. Writers wait when a compaction is due and the one before is not done. */
class WrittenClock implements CompactorClock {
  written = 0;
  #due = 0;
  #sleeper: { readonly ms: number; readonly wake: () => void } | undefined;
  #asleep = Promise.withResolvers<void>();

  now(): number {
    return (this.written / WRITES_PER_SECOND) * 1_000;
  }

  pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
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
      // Counted from when the compaction was due: here it takes as long as many writes, in real time far less than the
      // interval.
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
const compactor = startCompactor({ store, clock, ...RETENTION, intervalMs: INTERVAL_MS, logger: { warn } });

const slots = Array.from({ length: Number(objects) }, (_, index): Slot => {
  const key = `/registry/clusterregistry.k8s.io/clusters/cluster-${String(index).padStart(6, '0')}`;
  return { key, revision: 0, bytes: 0 };
});
const source = Buffer.alloc(VALUE_BYTES.most, 'a cluster, as it is stored ');
/** Bytes written by each revision that the store still keeps. */
const sizes = new Map<number, number>();
let live = 0;
let kept = 0;
/** The newest revision that is no longer in `sizes`. */
let dropped = 0;

async function writeOne(slot: Slot): Promise<void> {
  const gone = slot.revision === 0;
  const length = Math.floor(VALUE_BYTES.least + random() * (VALUE_BYTES.most - VALUE_BYTES.least));
  const value = !gone && random() < 1 / DELETES ? null : source.subarray(0, length);
  const bytes = value === null ? 0 : slot.key.length + length;
  const expect = gone ? ({ absent: true } as const) : { modRevision: slot.revision };
  const { ok, revision } = await store.write({ key: slot.key, value, expect });
  if (!ok) throw new Error(`${slot.key} had another revision than expected`);
  live += bytes - slot.bytes;
  slot.revision = value === null ? 0 : revision;
  slot.bytes = bytes;
  sizes.set(revision, slot.key.length + (value?.length ?? 0));
  kept += slot.key.length + (value?.length ?? 0);
}

/** The highest sizes so far, in bytes. */
interface Highest {
  readonly file: number;
  readonly wal: number;
  /** Size of the file as a share of the goal: twice the live objects and the kept revisions. */
  readonly share: number;
  /** As a share of twice the live objects and once the kept revisions. */
  readonly strict: number;
}
const NONE: Highest = { file: 0, wal: 0, share: 0, strict: 0 };
let inHour = NONE;
let ever = NONE;

async function readSizes(): Promise<void> {
  const compacted = await store.compactedRevision();
  for (; dropped < compacted; dropped += 1) {
    kept -= sizes.get(dropped + 1) ?? 0;
    sizes.delete(dropped + 1);
  }
  const now = { file: sizeOf(file), wal: sizeOf(`${file}-wal`) };
  // Before all objects are created there is little in the file, and an empty file has pages too.
  const filled = clock.written >= slots.length;
  const raise = (before: Highest): Highest => ({
    file: Math.max(before.file, now.file),
    wal: Math.max(before.wal, now.wal),
    share: filled ? Math.max(before.share, now.file / (2 * (live + kept))) : 0,
    strict: filled ? Math.max(before.strict, now.file / (2 * live + kept)) : 0,
  });
  inHour = raise(inHour);
  ever = raise(ever);
}

console.log(`B17: ${WRITES} writes (${hours} h at ${WRITES_PER_SECOND}/s), ${slots.length} objects; sizes in MiB;`);
console.log('live: the newest version of each object; window: the revisions that must be kept');
const COLUMNS = [
  'hour',
  'live',
  'window',
  'file, highest',
  'of 2 x (live + window)',
  'of 2 x live + window',
  'WAL, highest',
  'compacted to',
  'of revision',
];
console.log(`| ${COLUMNS.join(' | ')} |\n|${'---|'.repeat(COLUMNS.length)}`);
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
/** Each writer has its own keys, so no write is refused. */
async function writer(number: number): Promise<void> {
  const own = slots.filter((_, index) => index % WRITERS === number);
  while (claimed < WRITES) {
    claimed += 1;
    const count = claimed;
    await clock.tick();
    await writeOne(own[Math.floor(random() * own.length)] as Slot);
    if (count % SIZES_EVERY === 0) await readSizes();
    if (count % hourly === 0) await report(count / hourly);
  }
}
await Promise.all(Array.from({ length: WRITERS }, (_, number) => writer(number)));
await readSizes();
await compactor.stop();
await store.close();

const seconds = (performance.now() - begun) / 1000;
const cpu = process.cpuUsage();
const used = ((cpu.user + cpu.system) / 1e6).toFixed(0);
console.log(
  `took        ${seconds.toFixed(0)} s, ${used} s of CPU, ${mb(process.memoryUsage.rss())} MiB resident memory`,
);
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
console.log(
  `file        ${mb(ever.file)} MiB at most, ${percent(ever.share)} of 2 x (live + window),`,
  `${percent(ever.strict)} of 2 x live + window`,
);
console.log(`WAL         ${mb(ever.wal)} MiB at most, of ${mb(WAL_GOAL)}`);
console.log(`warnings    ${warnings.length}${warnings.length > 0 ? `: ${[...new Set(warnings)].join('; ')}` : ''}`);
const reopenedAt = performance.now();
const reopened = await openSqliteStore({ file });
const { items } = await reopened.list({ prefix: '/registry/' });
const right = items.length === slots.filter(({ revision }) => revision > 0).length;
await reopened.close();
const restartMs = (performance.now() - reopenedAt).toFixed(0);
console.log(`restart     ${restartMs} ms, ${items.length} objects: ${right ? 'all' : 'NOT'} the live objects`);
rmSync(folder, { recursive: true, force: true });
const holds = ever.share <= 1 && ever.wal <= WAL_GOAL && warnings.length === 0 && right;
const goal = 'file at most 2 x (live + window), WAL at most 64 MiB, no warning, all live objects after a restart';
console.log(`goal        ${goal}: ${holds ? 'holds' : 'MISSED'}`);
process.exit(holds ? 0 : 1);
