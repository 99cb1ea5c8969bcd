import { boolean, existing, type Parse } from './values.ts';

/** An option of `clusterpass serve`. Its flag, variable and file key are derived from its name in the table. */
export interface Option<T = unknown> {
  /** The placeholder in help and reference, if it is not that of the parser. */
  readonly value?: string;
  readonly parse: Parse<T>;
  /** May be given several times, as a list in the file, and comma-separated in a variable. */
  readonly repeatable?: true;
  /** Between the values of a repeatable option in a variable, if values contain commas. */
  readonly separator?: string;
  /** As typed on the command line. An option without a default may stay unset. */
  readonly default?: string;
  /** Describes what an unset option means. */
  readonly defaultText?: string;
  /** One or two sentences for help and reference. */
  readonly doc: string;
}

export const option = <T, const F extends { readonly default?: string }>(
  facts: Omit<Option<T>, 'doc'> & F,
  doc: string,
): Option<T> & F => ({ ...facts, doc });

/** A switch that is off by default. */
export const flag = (doc: string) => option({ parse: boolean, default: 'false' }, doc);

/** The path of a file that has to exist. */
export const file = (doc: string) => option({ parse: existing('file') }, doc);

/** What stands for the value. A switch has none: its flag without a value means true. */
export const placeholderOf = ({ value, parse }: Option): string | undefined => value ?? parse.placeholder;
