/** K-15, K-20: for clocks that differ between machines. */
export const LEEWAY_MS = 60_000;

/** Whether tokens that depend on the object are refused. A timestamp that cannot be parsed counts as long past. */
export function isGone(
  { deletionTimestamp }: { readonly deletionTimestamp?: string | undefined },
  now: number,
): boolean {
  if (deletionTimestamp === undefined) return false;
  const deletedAt = Date.parse(deletionTimestamp);
  return Number.isNaN(deletedAt) || deletedAt < now - LEEWAY_MS;
}
