import { CliError, type Invocation, optionName } from './command.ts';

/** The labels of a repeatable flag with `key=value`. */
export const labelsFrom = (invocation: Invocation, flag: string): Record<string, string> =>
  Object.fromEntries(
    invocation.list(optionName(flag)).map((label) => {
      const sign = label.indexOf('=');
      if (sign <= 0) throw new CliError(`${flag}: ${JSON.stringify(label)} is not key=value`);
      return [label.slice(0, sign), label.slice(sign + 1)];
    }),
  );
