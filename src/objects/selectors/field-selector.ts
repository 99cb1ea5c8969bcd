import { escapeFieldValue, selectorSizeProblem } from '../../api/selectors.ts';
import { SelectorSyntaxError } from './label-requirement.ts';

interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** Requirements that must all hold. Immutable. */
export class FieldSelector {
  /** Without repeats, sorted by their texts. */
  readonly requirements: readonly FieldRequirement[];
  readonly #text: string;

  constructor(requirements: readonly FieldRequirement[]) {
    const byText = new Map(requirements.map((requirement) => [printRequirement(requirement), requirement]));
    const sorted = [...byText].sort(([a], [b]) => (a < b ? -1 : 1));
    this.requirements = sorted.map(([, requirement]) => requirement);
    this.#text = sorted.map(([text]) => text).join(',');
  }

  /** An empty selector restricts nothing. */
  get isEmpty(): boolean {
    return this.requirements.length === 0;
  }

  /** `textOf`: the value of a field; empty for one that the object does not have. One with several has each of them. */
  matches(textOf: (field: string) => string): boolean {
    for (const { field, operator, value } of this.requirements) {
      if (hasValue(textOf(field), value) !== (operator === '=')) return false;
    }
    return true;
  }

  /** The only value of this field that matches; undefined when the selector does not require one. */
  exactValue(field: string): string | undefined {
    return this.requirements.find((one) => one.field === field && one.operator === '=')?.value;
  }

  /** Equal for selectors with the same requirements. */
  toString(): string {
    return this.#text;
  }
}

const printRequirement = ({ field, operator, value }: FieldRequirement): string =>
  `${field}${operator}${escapeFieldValue(value)}`;

/** Between the values of a field that has several: see `Kind.selectableFields`. */
const VALUE_SEPARATOR = '\0';

const hasValue = (field: string, value: string): boolean =>
  field === value || (field.includes(VALUE_SEPARATOR) && field.split(VALUE_SEPARATOR).includes(value));

/**
 * L-40: comma-separated `k=v`, `k==v`, `k!=v`. A backslash before `\`, `,` or `=` makes it part of a
 * value. Nothing is trimmed, empty terms are skipped.
 *
 * @throws SelectorSyntaxError with Kubernetes' own words (L-41), which are part of the interface.
 */
export function parseFieldSelector(text: string): FieldSelector {
  // Sorted before they are parsed, as in Kubernetes: the order decides which of several faults is reported.
  const terms = text.match(/(?:\\.?|[^\\,])+/gs) ?? [];
  const selector = new FieldSelector(terms.sort().map((term) => parseTerm(term, text)));
  const { length } = selector.requirements;
  const problem = selectorSizeProblem(length, length);
  if (problem !== undefined) throw new SelectorSyntaxError(problem);
  return selector;
}

/** L-42: other fields are refused, so that a selector cannot probe hidden ones. */
export function assertSupported(selector: FieldSelector, supported: readonly string[]): void {
  const unknown = selector.requirements.find(({ field }) => !supported.includes(field));
  if (unknown !== undefined) throw new SelectorSyntaxError(`field label not supported: ${unknown.field}`);
}

/** The first operator splits the term. The field before it has no escapes. */
function parseTerm(term: string, selector: string): FieldRequirement {
  const equals = term.indexOf('=');
  if (equals < 0) throw new SelectorSyntaxError(`invalid selector: '${selector}'; can't understand '${term}'`);
  if (term[equals - 1] === '!') {
    return { field: term.slice(0, equals - 1), operator: '!=', value: unescapeValue(term.slice(equals + 1)) };
  }
  const valueStart = term[equals + 1] === '=' ? equals + 2 : equals + 1;
  return { field: term.slice(0, equals), operator: '=', value: unescapeValue(term.slice(valueStart)) };
}

const unescapeValue = (text: string): string =>
  text.replace(/\\(.?)|[,=]/gsu, (found, escaped: string | undefined) => {
    // Go prints the rune as its number.
    if (escaped === undefined) {
      throw new SelectorSyntaxError(`invalid field selector: unescaped character in value: ${found.codePointAt(0)}`);
    }
    if (['\\', ',', '='].includes(escaped)) return escaped;
    throw new SelectorSyntaxError(`invalid field selector: invalid escape sequence: ${found}`);
  });
