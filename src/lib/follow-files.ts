import { stat } from 'node:fs';
import { promisify } from 'node:util';
import { codeOf } from './file-problem.ts';
import { every as everyInterval } from './rounds.ts';
import { UnsafeFile } from './secret-file.ts';
import { quantity } from './text.ts';

/** Files that are read again when they change. */
export interface FollowedFiles<T> {
  /** The value of the last successful read, or the one for a file that is gone or invalid. */
  current(): T;
  /** Whether a file has been gone or invalid for longer than its grace, so that its content no longer counts. */
  isGone(): boolean;
  /** Reads the files if one has changed. If that fails, it reports the problem and keeps the value for a time. */
  refresh(): Promise<void>;
  close(): void;
}

export interface FollowParts {
  /** Calls the task at this interval until the returned function is called. Default: a timer. */
  readonly every?: (milliseconds: number, task: () => void) => () => void;
  /** A problem for the operator: names the file and the line, never a secret. */
  readonly report: (problem: string) => void;
  /** Milliseconds on a monotonic clock. */
  readonly monotonicNow?: () => number;
}

interface Options<T> extends FollowParts {
  /** For messages, e.g. `token file x`. */
  readonly what: string;
  readonly files: readonly string[];
  /**
   * Rejects with an error whose message is for the operator. Undefined when a file does not exist or cannot be opened.
   * `inUse` is undefined at the first read.
   */
  readonly read: (inUse: T | undefined) => Promise<T | undefined>;
  /** The content of another file may be the same. Default: it never is. */
  readonly isSame?: (found: T, inUse: T) => boolean;
  /**
   * Used when a file has been gone or invalid for `graceMs`: removing a file withdraws its content, and so may a change
   * that was meant to withdraw a part of it and contains a mistake. Default: the content in use stays for good.
   */
  readonly whenGone?: { readonly value: T; readonly graceMs: number };
  /** Called with the first value, and with each new one. */
  readonly use?: (value: T) => void;
  readonly everyMs?: number;
}

const POLL_MS = 5_000;

/** Longer than a program takes to remove a file and write it again. */
export const GONE_GRACE_MS = 60_000;

/**
 * Rejects when the first read fails: a server must not start with fewer callers than it was configured with. Files are
 * polled, because notifications are lost when Kubernetes swaps the symbolic link of a mounted Secret, and on network
 * file systems. A read that fails is repeated at every poll, because half of a renewal may not be written yet.
 */
export async function followFiles<T>(options: Options<T>): Promise<FollowedFiles<T>> {
  const { what, files, read, isSame, whenGone, use, report, everyMs = POLL_MS } = options;
  const { every = everyInterval, monotonicNow = () => Number(process.hrtime.bigint()) / 1e6 } = options;
  // Taken before the read: a change during the read is then seen by the next poll.
  let stamp = await stampOf(files);
  const first = await read(undefined);
  if (first === undefined) {
    throw new UnsafeFile(`${what} cannot be read: it does not exist, or this process may not open it.`);
  }
  let value: T = first;
  let goneSince: number | undefined;
  let problem = '';
  /** The stamp of the files that were reported with `problem`. */
  let reportedStamp = '';
  let isGone = false;
  let isClosed = false;
  let busy: Promise<void> | undefined;
  use?.(value);

  async function reread(): Promise<void> {
    const found = await stampOf(files);
    if (found === stamp) return;
    // Until they are read: a failure may be temporary, so every poll tries again.
    stamp = '';
    try {
      const next = await read(value);
      if (isClosed) return;
      if (next === undefined) return lose(`${what} is gone`, found);
      stamp = found;
      goneSince = undefined;
      const isNew = isGone || isSame?.(next, value) !== true;
      isGone = false;
      if (isNew) take(next);
    } catch (error) {
      lose(error instanceof Error ? error.message : `${what} cannot be read`, found);
    }
  }

  function take(next: T): void {
    value = next;
    use?.(next);
  }

  function lose(why: string, found: string): void {
    if (isClosed || (goneSince !== undefined && why === problem && found === reportedStamp)) return;
    problem = why;
    reportedStamp = found;
    goneSince ??= monotonicNow();
    if (whenGone === undefined) {
      report(why);
      return;
    }
    const leftMs = goneSince + whenGone.graceMs - monotonicNow();
    if (isGone) report(`${why}; no previous content is in force`);
    else if (leftMs > 0) {
      report(`${why}; its previous content stays in force for ${quantity(Math.ceil(leftMs / 1000), 'second')}`);
    }
  }

  function endGrace(): void {
    if (whenGone === undefined || goneSince === undefined || isGone) return;
    if (monotonicNow() - goneSince < whenGone.graceMs) return;
    isGone = true;
    report(`${problem}; its previous content is no longer in force`);
    take(whenGone.value);
  }

  const refresh = (): Promise<void> => {
    busy ??= reread()
      .then(endGrace)
      .finally(() => {
        busy = undefined;
      });
    return busy;
  };
  const stop = every(everyMs, () => void refresh());
  const close = (): void => {
    isClosed = true;
    stop();
  };
  return { current: () => value, isGone: () => isGone, refresh, close };
}

/** Changes whenever one of the files changes. One that cannot be examined has its error code here. */
export async function stampOf(files: readonly string[]): Promise<string> {
  const stamps = files.map(async (file) => {
    try {
      // The module of `fs.promises` takes 1 MB of memory, which a connector saves.
      const { mtimeNs, ctimeNs, size, ino } = await promisify(stat)(file, { bigint: true });
      return [file, mtimeNs, ctimeNs, size, ino].join('\0');
    } catch (error) {
      return [file, codeOf(error)].join('\0');
    }
  });
  return (await Promise.all(stamps)).join('\n');
}
