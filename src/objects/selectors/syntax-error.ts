/** A label or field selector that cannot be understood. The message is the one clients get with their 400. */
export class SelectorSyntaxError extends Error {
  override readonly name = 'SelectorSyntaxError';
}
