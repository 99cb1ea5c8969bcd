/**
 * Loaded into a process by `--import`: a commit of SQLite takes longer by CLUSTERPASS_BENCH_SYNC_MS, as on a disk with
 * a slower sync. The first eight bytes of the file CLUSTERPASS_BENCH_COMMITS are the number of commits so far.
 */
import { openSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

const delay = Number(process.env.CLUSTERPASS_BENCH_SYNC_MS ?? 0);
const file = openSync(process.env.CLUSTERPASS_BENCH_COMMITS ?? '/dev/null', 'r+');
const commits = new BigUint64Array(1);
const cell = new Int32Array(new SharedArrayBuffer(4));
const { exec } = DatabaseSync.prototype;

/** @this {DatabaseSync} @param {string} sql */
DatabaseSync.prototype.exec = function execSlowly(sql) {
  exec.call(this, sql);
  if (sql !== 'COMMIT') return;
  if (delay > 0) Atomics.wait(cell, 0, 0, delay);
  commits[0] = (commits[0] ?? 0n) + 1n;
  writeSync(file, commits, 0, commits.byteLength, 0);
};
