import { stat } from 'node:fs/promises';
import { quantity } from './quantity.ts';
import { UnsafeFile } from './secret-file.ts';

/** A file that is read again when it changes. */
export interface WatchedFile<T> {
  /** The value of the last successful read, or the one for a file that is gone or invalid. */
  current(): T;
  /** Whether the file has been gone or invalid for longer than its grace, so that its content no longer counts. */
  isGone(): boolean;
  /** Reads the file if it has changed. If that fails, it reports the problem and keeps the value for a time. */
  refresh(): Promise<void>;
  close(): void;
}

export interface WatchParts {
  /** Calls the task at this interval until the returned function is called. */
  readonly every: (milliseconds: number, task: () => void) => () => void;
  /** A problem for the operator: names the file and the line, never a secret. */
  readonly report: (problem: string) => void;
}

interface Options<T> extends WatchParts {
  /** For messages, e.g. `token file`. */
  readonly what: string;
  readonly file: string;
  /**
   * Rejects with an error whose message is for the operator. Undefined when the file does not exist or cannot be
   * opened.
   */
  readonly read: () => Promise<T | undefined>;
  /**
   * Used when the file has been gone or invalid for `graceMs`: removing a file withdraws its content, and so may a
   * change that was meant to withdraw a part of it and contains a mistake.
   */
  readonly whenGone: { readonly value: T; readonly graceMs: number };
  /** Called with the new value after a change. */
  readonly onChange?: (value: T) => void;
  /** Milliseconds on a monotonic clock. */
  readonly monotonicNow?: () => number;
}

const REFRESH_MS = 5_000;

/** Longer than a program takes to remove a file and write it again. */
export const GONE_GRACE_MS = 60_000;

/**
 * Rejects when the first read fails: a server must not start with fewer callers than it was configured with. The file
 * is polled, because file system notifications are lost when Kubernetes swaps a mounted Secret.
 */
export async function openWatchedFile<T>(options: Options<T>): Promise<WatchedFile<T>> {
  const { file, read, every, report, whenGone, onChange, monotonicNow = () => performance.now() } = options;
  const named = `${options.what} ${file}`;
  // Taken before the read: a change during the read is then seen by the next poll.
  let stamp = await stampOf(file);
  const first = await read();
  if (first === undefined) {
    throw new UnsafeFile(`${named} cannot be read: it does not exist, or this process may not open it.`);
  }
  let value: T = first;
  let goneSince: number | undefined;
  let problem = '';
  /** The stamp of the file that was reported with `problem`. */
  let reportedStamp = '';
  let isGone = false;
  let busy: Promise<void> | undefined;

  const use = (next: T): void => {
    value = next;
    onChange?.(next);
  };

  async function reread(): Promise<void> {
    const found = await stampOf(file);
    if (found === stamp) return;
    // Until it is read: a failure may be temporary, so every poll tries again.
    stamp = '';
    try {
      const next = await read();
      if (next === undefined) return lose(`${named} is gone`, found);
      stamp = found;
      goneSince = undefined;
      isGone = false;
      use(next);
    } catch (error) {
      lose(error instanceof Error ? error.message : `${named} cannot be read`, found);
    }
  }

  function lose(why: string, found: string): void {
    if (goneSince !== undefined && why === problem && found === reportedStamp) return;
    problem = why;
    reportedStamp = found;
    goneSince ??= monotonicNow();
    const leftMs = goneSince + whenGone.graceMs - monotonicNow();
    if (isGone) report(`${why}; no previous content is in force`);
    else if (leftMs > 0) {
      report(`${why}; its previous content stays in force for ${quantity(Math.ceil(leftMs / 1000), 'second')}`);
    }
  }

  function endGrace(): void {
    if (goneSince === undefined || isGone || monotonicNow() - goneSince < whenGone.graceMs) return;
    isGone = true;
    report(`${problem}; its previous content is no longer in force`);
    use(whenGone.value);
  }

  const refresh = (): Promise<void> => {
    busy ??= reread()
      .then(endGrace)
      .finally(() => {
        busy = undefined;
      });
    return busy;
  };
  const close = every(REFRESH_MS, () => void refresh());
  return { current: () => value, isGone: () => isGone, refresh, close };
}

async function stampOf(file: string): Promise<string> {
  try {
    const { mtimeNs, ctimeNs, size, ino } = await stat(file, { bigint: true });
    return `${mtimeNs}/${ctimeNs}/${size}/${ino}`;
  } catch {
    return 'missing';
  }
}
