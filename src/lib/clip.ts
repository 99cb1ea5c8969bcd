/** The first `max` code units. A surrogate pair that is cut in two becomes U+FFFD, as it would when it is encoded. */
export const truncate = (text: string, max: number): string => text.slice(0, max).toWellFormed();

/** Truncates text for use in a message or a record. */
export function clip(text: string, max = 256): string {
  return text.length <= max ? text : `${truncate(text, max)}...`;
}
