import { toGoInt64 } from '../../api/codec/go-text/go-parse.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { isValidLabelValue } from '../../api/names.ts';
import { SelectorSyntaxError } from './syntax-error.ts';

export type LabelOperator = 'in' | 'notin' | '=' | '==' | '!=' | 'exists' | '!' | 'gt' | 'lt';

export interface Requirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted, without repeats; empty for `exists` and `!`. */
  readonly values: readonly string[];
}

/** An object's labels, as kept (a map) or as decoded (a record). */
export type Labels = ReadonlyMap<string, string> | Readonly<Record<string, string>>;

/** Decides for the value an object has under the requirement's key; undefined when it has no such label. */
export type ValueTest = (value: string | undefined) => boolean;

/**
 * Kubernetes names every bad value. A selector is a list of two-byte values at its worst and each is
 * answered with some 300 bytes, so beyond this many we only count them.
 */
const MAX_NAMED_FAULTS = 32;

/** Checks the values of a requirement whose key is known to be good. */
export function makeRequirement(key: string, operator: LabelOperator, values: Iterable<string>): Requirement {
  const sorted = [...new Set(values)].sort();
  const faults: string[] = [];
  if (operator === 'gt' || operator === 'lt') {
    sorted.forEach((value, index) => {
      if (toGoInt64(value) !== undefined) return;
      faults.push(invalid(`values[${index}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer"));
    });
  }
  let unnamed = 0;
  sorted.forEach((value, index) => {
    const complaints = isValidLabelValue(value);
    if (complaints.length === 0) return;
    if (faults.length < MAX_NAMED_FAULTS) {
      faults.push(invalid(`values[${index}][${key}]`, value, complaints.join('; ')));
    } else {
      unnamed++;
    }
  });
  if (faults.length > 0) throw new SelectorSyntaxError(aggregate(faults, unnamed));
  return { key, operator, values: sorted };
}

/** The text of one field error (F-07) with the value printed. */
export function invalid(path: string, value: string, detail: string): string {
  return `${path}: Invalid value: ${goQuote(value)}: ${detail}`;
}

/** F-06: one fault stands bare, several in brackets. */
function aggregate(faults: readonly string[], unnamed: number): string {
  const [only] = faults;
  if (faults.length === 1 && unnamed === 0 && only !== undefined) return only;
  const rest = unnamed === 0 ? '' : `, and ${unnamed} more`;
  return `[${faults.join(', ')}${rest}]`;
}

/** Prepared once per selector, asked once per object. */
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
      // `!=` and `notin` also hold for objects that lack the key.
      const wanted = operator !== '!=' && operator !== 'notin';
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

const INFIX: Readonly<Record<Exclude<LabelOperator, 'exists' | '!' | 'in' | 'notin'>, string>> = {
  '=': '=',
  '==': '==',
  '!=': '!=',
  gt: '>',
  lt: '<',
};

/** In the grammar of selectors again, normalized as Kubernetes prints it. */
export function printRequirement({ key, operator, values }: Requirement): string {
  if (operator === 'exists') return key;
  if (operator === '!') return `!${key}`;
  const list = values.join(',');
  if (operator === 'in' || operator === 'notin') return `${key} ${operator} (${list})`;
  return `${key}${INFIX[operator]}${list}`;
}
