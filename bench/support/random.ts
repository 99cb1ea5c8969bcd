/** Random numbers from 0 up to 1 that are the same in every run with the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A shuffled copy (Fisher-Yates). */
export function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const result = [...values];
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  return result;
}

export function pick<T>(values: readonly T[], random: () => number): T {
  if (values.length === 0) throw new Error('there is nothing to pick from');
  return values[Math.floor(random() * values.length)] as T;
}
