/** Longer than any name here; bounds the time of a comparison. */
const MAX_LENGTH = 64;

/** Levenshtein distance. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The known name with the smallest distance, or undefined when none is close. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const best = known
    .map((candidate) => ({ candidate, far: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .reduce((a, b) => (b.far < a.far ? b : a), { candidate: '', far: Number.POSITIVE_INFINITY });
  return best.far <= Math.max(2, Math.floor(name.length / 3)) ? best.candidate : undefined;
}

/** `; did you mean X?`, or nothing. */
export const didYouMean = (name: string, known: readonly string[]): string => orMeant(nearest(name, known));

/** The same for a name that was looked for elsewhere. */
export const orMeant = (guess: string | undefined): string => (guess === undefined ? '' : `; did you mean ${guess}?`);
