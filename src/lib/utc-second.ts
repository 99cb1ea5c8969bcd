/** So many seconds are remembered: at any moment few are told, those of now and of when something ends. */
const REMEMBERED = 64;
const texts = new Map<number, string>();

/** A second since the epoch, in UTC and without its zone, as in `2026-01-02T03:04:05`. */
export function utcSecond(second: number): string {
  const known = texts.get(second);
  if (known !== undefined) return known;
  const text = new Date(second * 1000).toISOString().slice(0, 19);
  if (texts.size >= REMEMBERED) texts.clear();
  texts.set(second, text);
  return text;
}
