import { readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

const TASKS = '/proc/self/task';
/** As libuv calls the threads of its pool. */
const POOL_THREAD = 'libuv-worker';
/** Far enough for the scheduler to prefer the event loop whenever both have work, and not so far that signing stands still. */
const BEHIND = 10;

/**
 * A23: lets the event loop go before signatures. An RS256 signature takes milliseconds, and the pool has more threads than
 * small machines have processors: with equal rights the loop, which has to answer everybody, waits for one time slice of
 * each. On Linux a priority belongs to a thread; elsewhere nothing is done. The threads are all there once the pool was
 * used for the first time. Gives how many were moved.
 */
export function letLoopGoFirst(): number {
  let moved = 0;
  for (const task of tasks()) {
    try {
      if (readFileSync(`${TASKS}/${task}/comm`, 'utf8').trim() !== POOL_THREAD) continue;
      setPriority(Number(task), Math.min(getPriority() + BEHIND, constants.priority.PRIORITY_LOW));
      moved += 1;
    } catch {
      // A sandbox may not allow it. Signing works as well without.
    }
  }
  return moved;
}

function tasks(): string[] {
  try {
    return readdirSync(TASKS);
  } catch {
    return [];
  }
}
