import { stat } from 'node:fs/promises';

/** A file that is read again when it changes. */
export interface WatchedFile<T> {
  /** What was read last. */
  current(): T;
  /** Reads the file if it has changed. A bad file is reported and what is in force stays. */
  refresh(): Promise<void>;
  close(): void;
}

export interface WatchParts {
  /** Calls the task again and again, until the function it returns is called. */
  readonly every: (milliseconds: number, task: () => void) => () => void;
  /** Something the operator should know. Names the file and the place in it, never a secret. */
  readonly report: (problem: string) => void;
}

interface Options<T> extends WatchParts {
  readonly file: string;
  /** Rejects with a sentence for the operator. */
  readonly read: () => Promise<T>;
  /** Called with what was read after a change. */
  readonly onChange?: (value: T) => void;
}

const REFRESH_MS = 5_000;

/**
 * Rejects when the file can not be used: a server must not start with fewer callers than it was given. The file is
 * looked at every few seconds, since notifications are lost when a mounted Secret is swapped.
 */
export async function openWatchedFile<T>({ file, read, every, report, onChange }: Options<T>): Promise<WatchedFile<T>> {
  // Taken before reading: a change during the reading is then seen at the next look.
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
      report(`${error instanceof Error ? error.message : 'unreadable'}; what was read before stays in force`);
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
