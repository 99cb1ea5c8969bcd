/** An invalid label or field selector. Clients get the message with a 400. */
export class SelectorSyntaxError extends Error {
  override readonly name = 'SelectorSyntaxError';
}
