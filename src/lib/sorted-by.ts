/** Sorted by texts, each of which is made once and not at every comparison. */
export const sortedBy = <T>(items: readonly T[], keyOf: (item: T) => string): T[] =>
  items
    .map((item) => [keyOf(item), item] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, item]) => item);
