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
