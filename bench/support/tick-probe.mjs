/**
 * Loaded into the server by `--import tick-probe.mjs?FILE`. Writes the length of each long tick of the event loop to
 * FILE, in milliseconds of CPU time of the main thread: time in which the machine runs other processes does not count.
 */
import { openSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const LONG_MS = 5;

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

if (isMainThread) {
  const file = openSync(decodeURIComponent(new URL(import.meta.url).search.slice(1)), 'a', 0o600);
  let before = cpuMs();
  // A timer of 1 ms is due in every tick that is longer.
  setInterval(() => {
    const now = cpuMs();
    if (now - before > LONG_MS) writeSync(file, `${(now - before).toFixed(1)}\n`);
    before = now;
  }, 1).unref();
}
