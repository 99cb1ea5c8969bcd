/**
 * For `node --import`: SQLite works as on a slow disk while a file exists. A number in the file is the delay of each
 * operation in milliseconds. With an empty file, operations wait until the file is deleted. CLUSTERPASS_TEST_DISK names
 * the file.
 */
import { readFileSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';

const file = process.env.CLUSTERPASS_TEST_DISK ?? '';
const cell = new Int32Array(new SharedArrayBuffer(4));
const POLL_MS = 10;

/** The content of the file; undefined when there is none. */
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
