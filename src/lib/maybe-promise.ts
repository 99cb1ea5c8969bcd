/**
 * A value that is nearly always there, or a promise of it. It is for the path of every request, where a promise would
 * cost an allocation and a microtask each time. `await` takes both; code of that path awaits only a promise.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `next` with the value: now if it is there. */
export const withValue = <T, R>(value: MaybePromise<T>, next: (value: T) => R): MaybePromise<R> =>
  value instanceof Promise ? value.then(next) : next(value);
