/** Runs `act` for all items, `size` at a time: the next batch starts when the previous one is done. */
export async function inBatches<T>(
  items: readonly T[],
  size: number,
  act: (item: T) => Promise<unknown>,
): Promise<void> {
  for (let start = 0; start < items.length; start += size) {
    await Promise.all(items.slice(start, start + size).map(act));
  }
}
