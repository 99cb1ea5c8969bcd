import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CliError, type Output } from '../command.ts';
import { codeOf, fileProblem } from './files.ts';

export interface LockOptions {
  readonly waitMs: number;
  /** Asked while waiting; true ends the wait without the lock. */
  readonly done?: () => Promise<boolean>;
  /** Told once that there is a wait, if it is a long one. */
  readonly err: Pick<Output, 'write'>;
  readonly tellAfterMs?: number;
}

const POLL_MS = 50;
const TELL_AFTER_MS = 1_000;

/**
 * Runs a task while no other process that asks for the same lock runs one. The lock is a file beside what it
 * protects, named and made as kubectl makes its own, so that for a kubeconfig the two exclude each other.
 * Gives undefined when `done` ended the wait.
 */
export async function withLock<T>(path: string, options: LockOptions, task: () => Promise<T>): Promise<T | undefined> {
  const lock = `${path}.lock`;
  await mkdir(dirname(lock), { recursive: true, mode: 0o700 });
  const mine = `${process.pid} ${randomBytes(8).toString('hex')}`;
  const start = performance.now();
  let isTold = false;
  while (!(await take(lock, mine))) {
    if ((await options.done?.()) === true) return undefined;
    if (await removeAbandoned(lock, mine)) continue;
    const waited = performance.now() - start;
    if (waited > options.waitMs) {
      throw new CliError(`${path} is locked by another program; if none is running, remove ${await leftBehind(lock)}`);
    }
    if (!isTold && waited > (options.tellAfterMs ?? TELL_AFTER_MS)) {
      isTold = true;
      options.err.write(`Waiting for another program that has locked ${path}...\n`);
    }
    await delay(POLL_MS);
  }
  try {
    return await task();
  } finally {
    if ((await holder(lock)) === mine) await rm(lock, { force: true });
  }
}

/** Held for the moment in which the lock of somebody else is removed. */
const permitOf = (lock: string): string => `${lock}.takeover`;

/** What a person has to remove. The second is only there if a process was ended in the middle of a takeover. */
async function leftBehind(lock: string): Promise<string> {
  return (await holder(permitOf(lock))) === undefined ? lock : `${lock} and ${permitOf(lock)}`;
}

async function take(lock: string, mine: string): Promise<boolean> {
  try {
    const handle = await open(lock, 'wx', 0o600);
    try {
      await handle.writeFile(mine);
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw new CliError(`cannot make ${lock}: ${fileProblem(error)}`);
  }
}

/** What the lock says; undefined when it is gone, or not ours to read (kubectl's has no mode at all). */
async function holder(lock: string): Promise<string | undefined> {
  try {
    return await readFile(lock, 'utf8');
  } catch {
    return undefined;
  }
}

/** Removes the lock of a process that is no more. True if another try is worth it at once. */
async function removeAbandoned(lock: string, mine: string): Promise<boolean> {
  const found = await holder(lock);
  const pid = Number(/^(\d{1,10}) [0-9a-f]{16}$/.exec(found ?? '')?.[1] ?? Number.NaN);
  if (!Number.isInteger(pid) || isRunning(pid)) return false;
  // Two processes may come to this conclusion, and the second must not remove the new lock of the first. So one at a time, and
  // each looks again: what it finds then stays, because its owner is no more and nobody else may remove it.
  const permit = permitOf(lock);
  if (!(await take(permit, mine))) return false;
  try {
    if ((await holder(lock)) === found) await rm(lock, { force: true });
  } finally {
    await rm(permit, { force: true });
  }
  return true;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}
