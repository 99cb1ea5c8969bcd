/**
 * Writes acknowledged before `kill -9` exist after it, and no write exists in part. All rounds use one file, so that
 * damage would accumulate. CLUSTERPASS_CRASH_ROUNDS sets the number of rounds, CLUSTERPASS_CRASH_SEED repeats a run as
 * far as races can be repeated.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { Revision, Store } from '../../src/storage/contract.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { compactedRevision } from '../conformance/harness.ts';
import { nonceOf } from './checked-value.ts';
import { Journal, type Line } from './journal.ts';
import { seededRandom } from './random.ts';

const ROUNDS = Number(process.env.CLUSTERPASS_CRASH_ROUNDS ?? 5);
const SEED = Number(process.env.CLUSTERPASS_CRASH_SEED ?? Math.floor(Math.random() * 1e6));
const WRITER = fileURLToPath(new URL('./writer.ts', import.meta.url));

interface Kill {
  /** Kills after so many acknowledged writes, and a random time. */
  readonly afterAcks: number;
  readonly thenMs: number;
}

/** Runs the writer on the file, kills it, and records its output in the journal. */
async function runAndKill(file: string, seed: number, kill: Kill, journal: Journal, floor: Revision): Promise<void> {
  const child = spawn(process.execPath, [WRITER, file, String(seed)], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const round = { floor, revisions: new Set<Revision>() };
  let failure: unknown;
  let killing: Promise<void> | undefined;
  const killSoon = async () => {
    await delay(kill.thenMs);
    child.kill('SIGKILL');
  };
  if (kill.afterAcks === 0) killing = killSoon();
  for await (const text of createInterface({ input: child.stdout })) {
    try {
      // The last line may be cut off; its write counts as not acknowledged.
      const line = parseLine(text);
      if (line !== undefined) journal.read(line, round);
    } catch (error) {
      failure ??= error;
    }
    if (round.revisions.size >= kill.afterAcks) killing ??= killSoon();
  }
  const [code, signal] = await exited;
  await killing;
  if (failure !== undefined) throw failure;
  expect({ code, signal, stderr }).toEqual({ code: null, signal: 'SIGKILL', stderr: '' });
}

function parseLine(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}

/** Every key has its last acknowledged value, or that of its one pending write. No other keys exist. */
async function checkState(store: Store, journal: Journal): Promise<void> {
  expect(await store.revision()).toBeGreaterThanOrEqual(journal.newest);
  expect(await compactedRevision(store)).toBeGreaterThanOrEqual(journal.compacted);
  const { items } = await store.list({ prefix: '/' });
  const stored = new Map(items.map((item) => [item.key, item]));
  for (const key of new Set([...stored.keys(), ...journal.acked.keys(), ...journal.pending.keys()])) {
    const item = stored.get(key);
    const nonce = item === undefined ? null : nonceOf(key, item.value);
    expect(nonce, `${key} holds a complete value of this key`).toBeDefined();
    const acked = journal.acked.get(key) ?? { nonce: null, revision: 0 };
    const pending = journal.pending.get(key);
    if (nonce === acked.nonce) {
      if (item !== undefined)
        expect(item.modRevision, `${key} has the revision that was acknowledged`).toBe(acked.revision);
    } else {
      expect(nonce, `${key} was last acknowledged as ${acked.nonce} at ${acked.revision}`).toBe(pending);
      if (item !== undefined) expect(item.modRevision).toBeGreaterThan(acked.revision);
    }
    // The outcome of the pending write is known now, and must not change.
    journal.acked.set(key, { nonce: nonce ?? null, revision: item?.modRevision ?? acked.revision });
  }
  journal.pending.clear();
}

function checkFile(file: string): void {
  const db = new DatabaseSync(file);
  try {
    expect(db.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  } finally {
    db.close();
  }
}

it(
  `B1: no acknowledged write is lost in ${ROUNDS} kills`,
  async () => {
    console.log(`crash: seed ${SEED} (CLUSTERPASS_CRASH_SEED=${SEED} repeats it)`);
    const directory = mkdtempSync(join(tmpdir(), 'clusterpass-crash-'));
    const file = join(directory, 'store.db');
    const random = seededRandom(SEED);
    const journal = new Journal();
    let floor: Revision = 0;
    let undecided = 0;
    for (let round = 1; round <= ROUNDS; round++) {
      // One in eight is killed during its start, when it recovers from the previous kill.
      const starting = random() < 1 / 8;
      const kill = starting
        ? { afterAcks: 0, thenMs: Math.floor(random() * 300) }
        : { afterAcks: 1 + Math.floor(random() * 600), thenMs: Math.floor(random() * 20) };
      await runAndKill(file, SEED + round, kill, journal, floor);
      undecided += journal.pending.size;
      const store = await openSqliteStore({ file });
      try {
        await checkState(store, journal);
        const revision = await store.revision();
        expect(revision).toBeGreaterThanOrEqual(floor);
        floor = revision;
      } finally {
        await store.close();
      }
      checkFile(file);
    }
    rmSync(directory, { recursive: true });
    console.log(
      `crash: ${ROUNDS} kills, ${journal.writes} acknowledged writes, none lost; ${undecided} pending, each complete or ` +
        `absent; ${journal.compactions} compactions; revision ${floor}, never reused; integrity_check ok each time`,
    );
    expect(journal.writes).toBeGreaterThan(0);
  },
  60_000 + ROUNDS * 10_000,
);
