/**
 * For `node --import`: SQLite works as on a disk in trouble as long as a file is there. With a number in the file each
 * operation takes so many milliseconds longer; without one it waits until the file is gone. The file is named by
 * CLUSTERPASS_TEST_DISK.
 */
import { readFileSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';

const file = process.env.CLUSTERPASS_TEST_DISK ?? '';
const cell = new Int32Array(new SharedArrayBuffer(4));
const POLL_MS = 10;

/** What the file says; undefined when there is none. */
function trouble() {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function wait() {
  const delay = Number(trouble() ?? 0);
  if (delay > 0) Atomics.wait(cell, 0, 0, delay);
  else while (trouble() === '') Atomics.wait(cell, 0, 0, POLL_MS);
}

/** @param {object} prototype @param {string} name */
function slow(prototype, name) {
  const original = Reflect.get(prototype, name);
  /** @this {unknown} @param {unknown[]} args */
  function slowed(...args) {
    wait();
    return Reflect.apply(original, this, args);
  }
  Reflect.set(prototype, name, slowed);
}

slow(DatabaseSync.prototype, 'exec');
for (const name of ['all', 'get', 'run', 'iterate']) slow(StatementSync.prototype, name);
