import { toGoInt64 } from '../../api/codec/go-text/go-parse.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { isValidLabelValue } from '../../api/names.ts';

/** An invalid label or field selector. Clients get the message with a 400. */
export class SelectorSyntaxError extends Error {
  override readonly name = 'SelectorSyntaxError';
}

/** `=` and `==` are `in` with one value, `!=` is `notin`. */
export type LabelOperator = 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt';

export interface Requirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted, without repeats; empty for `exists` and `!`. */
  readonly values: readonly string[];
}

/** Tests the value of the requirement's label; undefined when the object does not have it. */
export type ValueTest = (value: string | undefined) => boolean;

/** Validates the values of a requirement with a valid key. */
export function makeRequirement(key: string, operator: LabelOperator, values: Iterable<string>): Requirement {
  const sorted = [...new Set(values)].sort();
  const faults: string[] = [];
  if (operator === 'gt' || operator === 'lt') {
    sorted.forEach((value, index) => {
      if (toGoInt64(value) !== undefined) return;
      faults.push(invalid(`values[${index}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer"));
    });
  }
  sorted.forEach((value, index) => {
    const complaints = isValidLabelValue(value);
    if (complaints.length > 0) faults.push(invalid(`values[${index}][${key}]`, value, complaints.join('; ')));
  });
  const [first, second] = faults;
  // F-06: several faults are put in brackets.
  if (first !== undefined) throw new SelectorSyntaxError(second === undefined ? first : `[${faults.join(', ')}]`);
  return { key, operator, values: sorted };
}

/** The text of one field error (F-07) with its value. */
export function invalid(path: string, value: string, detail: string): string {
  return `${path}: Invalid value: ${goQuote(value)}: ${detail}`;
}

/** Built once for each selector, called once for each object. */
export function compile({ operator, values }: Requirement): ValueTest {
  switch (operator) {
    case 'exists':
      return (value) => value !== undefined;
    case '!':
      return (value) => value === undefined;
    case 'gt':
    case 'lt':
      return compileComparison(operator, values[0] ?? '');
    default: {
      // `notin` also holds for objects that lack the key.
      const wanted = operator === 'in';
      const single = values[0];
      if (values.length === 1) return (value) => (value !== undefined && value === single) === wanted;
      const set = new Set(values);
      return (value) => (value !== undefined && set.has(value)) === wanted;
    }
  }
}

function compileComparison(operator: 'gt' | 'lt', text: string): ValueTest {
  const bound = toGoInt64(text);
  if (bound === undefined) return () => false;
  return (value) => {
    const number = value === undefined ? undefined : toGoInt64(value);
    if (number === undefined) return false;
    return operator === 'gt' ? number > bound : number < bound;
  };
}

/** Equal for requirements that say the same, e.g. `a=b` and `a in (b,b)`. It can be parsed again. */
export function printRequirement({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'gt':
    case 'lt':
      return `${key}${operator === 'gt' ? '>' : '<'}${values[0] ?? ''}`;
    default:
      return `${key} ${operator} (${values.join(',')})`;
  }
}
