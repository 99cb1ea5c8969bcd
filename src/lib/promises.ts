/** Runs `act` for all items, `size` at a time. After a rejection no further item is begun. */
export async function inParallel<T>(
  items: readonly T[],
  size: number,
  act: (item: T) => Promise<unknown>,
): Promise<void> {
  let at = 0;
  const work = async (): Promise<void> => {
    try {
      while (at < items.length) await act(items[at++] as T);
    } catch (error) {
      at = items.length;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: Math.min(size, items.length) }, work));
}

/**
 * The result of the promise that settles first; undefined when none does within the time. Promises that settle later
 * are ignored, also when they reject.
 */
export async function firstWithin<T>(ms: number, ...promises: readonly Promise<T>[]): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  try {
    return await Promise.race([...promises, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A value that is nearly always there, or a promise of it. It is for the path of every request, where a promise would
 * cost an allocation and a microtask each time. `await` takes both; code of that path awaits only a promise.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `next` with the value: now if it is there. */
export const withValue = <T, R>(value: MaybePromise<T>, next: (value: T) => R): MaybePromise<R> =>
  value instanceof Promise ? value.then(next) : next(value);

/** Runs at most `size` tasks at a time, in the order of their calls. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(size: number) {
    this.#free = size;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
