/**
 * For `node --import`: SQLite does not get on as long as a file is there, as on a disk that does not answer. The file is
 * named by CLUSTERPASS_TEST_STALL.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';

const file = process.env.CLUSTERPASS_TEST_STALL ?? '';
const cell = new Int32Array(new SharedArrayBuffer(4));

/** @param {object} prototype @param {string} name */
function stall(prototype, name) {
  const original = Reflect.get(prototype, name);
  /** @this {unknown} @param {unknown[]} args */
  function waiting(...args) {
    while (existsSync(file)) Atomics.wait(cell, 0, 0, 10);
    return Reflect.apply(original, this, args);
  }
  Reflect.set(prototype, name, waiting);
}

stall(DatabaseSync.prototype, 'exec');
for (const name of ['all', 'get', 'run', 'iterate']) stall(StatementSync.prototype, name);
