/** The first line of a parser's message: what is wrong and where. A drawing of the place follows it after a colon. */
export const yamlProblem = ({ message }: { readonly message: string }): string =>
  (message.split('\n', 1)[0] ?? '').replace(/:$/, '');
