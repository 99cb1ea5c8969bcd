/**
 * Loaded into the program by `--import loop-probe.mjs?FILE`: writes down how long each turn of the event loop computed
 * that was longer than a few milliseconds. By the processor's time of the main thread: what passes while the machine is
 * busy with others is not its doing.
 */
import { openSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const WORTH_TELLING_MS = 5;

const computed = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

if (isMainThread) {
  const file = openSync(decodeURIComponent(new URL(import.meta.url).search.slice(1)), 'a', 0o600);
  let before = computed();
  // Due in every turn that is longer than this.
  setInterval(() => {
    const now = computed();
    if (now - before > WORTH_TELLING_MS) writeSync(file, `${(now - before).toFixed(1)}\n`);
    before = now;
  }, 1).unref();
}
