/** Truncates text for use in a message or a record. A surrogate pair that is cut in two becomes U+FFFD. */
export function clip(text: string, max = 256): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}...`;
}
