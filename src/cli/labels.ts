import { CliError, type Invocation } from './command.ts';

/** The labels of a repeatable flag with `key=value`. `name` is its name in camel case, of one word. */
export const labelsFrom = (invocation: Invocation, name: string): Record<string, string> =>
  Object.fromEntries(
    invocation.list(name).map((label) => {
      const sign = label.indexOf('=');
      if (sign <= 0) throw new CliError(`--${name}: ${JSON.stringify(label)} is not key=value`);
      return [label.slice(0, sign), label.slice(sign + 1)];
    }),
  );
