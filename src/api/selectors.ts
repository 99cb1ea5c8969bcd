/** L-40: `\`, `,` and `=` have a meaning in field selectors. */
export const escapeFieldValue = (value: string): string => value.replaceAll(/[\\,=]/g, '\\$&');

export const fieldSelectorFor = (field: string, value: string): string => `${field}=${escapeFieldValue(value)}`;

/** The field selector of the fields that have a value; undefined when none has. */
export function fieldSelectorOf(wanted: Readonly<Record<string, string | undefined>>): string | undefined {
  const parts = Object.entries(wanted).flatMap(([field, value]) =>
    value === undefined ? [] : [fieldSelectorFor(field, value)],
  );
  return parts.length === 0 ? undefined : parts.join(',');
}

/**
 * A selector is checked against every object of a list and every event of a watch, and a watch keeps it in memory for
 * as long as it lasts. What a selector repeats counts once.
 */
const MAX_SELECTOR_REQUIREMENTS = 64;
/** Of all requirements together. */
const MAX_SELECTOR_VALUES = 256;

/** Why a selector is too large, in words that name the limit. */
export function selectorSizeProblem(requirements: number, values: number): string | undefined {
  if (requirements > MAX_SELECTOR_REQUIREMENTS) {
    return `a selector may have at most ${MAX_SELECTOR_REQUIREMENTS} requirements, and this one has ${requirements}`;
  }
  if (values > MAX_SELECTOR_VALUES) {
    return `a selector may have at most ${MAX_SELECTOR_VALUES} values, and this one has ${values}`;
  }
  return undefined;
}
