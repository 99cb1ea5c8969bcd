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
