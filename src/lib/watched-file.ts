import { stat } from 'node:fs/promises';

/** A file that is read again when it changes. */
export interface WatchedFile<T> {
  /** The value of the last successful read. */
  current(): T;
  /** Reads the file if it has changed. If that fails, the problem is reported and the current value stays. */
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
  readonly file: string;
  /** Rejects with an error whose message is for the operator. */
  readonly read: () => Promise<T>;
  /** Called with the new value after a change. */
  readonly onChange?: (value: T) => void;
}

const REFRESH_MS = 5_000;

/**
 * Rejects when the first read fails: a server must not start with fewer callers than it was configured with. The file
 * is polled, because file system notifications are lost when Kubernetes swaps a mounted Secret.
 */
export async function openWatchedFile<T>({ file, read, every, report, onChange }: Options<T>): Promise<WatchedFile<T>> {
  // Taken before the read: a change during the read is then seen by the next poll.
  let stamp = await stampOf(file);
  let value = await read();
  let busy: Promise<void> | undefined;

  async function reread(): Promise<void> {
    try {
      const found = await stampOf(file);
      if (found === stamp) return;
      stamp = found;
      value = await read();
      onChange?.(value);
    } catch (error) {
      report(`${error instanceof Error ? error.message : 'unreadable'}; the previous content stays in force`);
    }
  }

  const refresh = (): Promise<void> => {
    busy ??= reread().finally(() => {
      busy = undefined;
    });
    return busy;
  };
  const close = every(REFRESH_MS, () => void refresh());
  return { current: () => value, refresh, close };
}

async function stampOf(file: string): Promise<string> {
  try {
    const { mtimeNs, ctimeNs, size, ino } = await stat(file, { bigint: true });
    return `${mtimeNs}/${ctimeNs}/${size}/${ino}`;
  } catch {
    return 'missing';
  }
}
