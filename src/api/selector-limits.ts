/**
 * A selector is checked against every object of a list and every event of a watch, and a watch keeps it in memory for
 * as long as it lasts. What a selector repeats counts once.
 */
export const MAX_SELECTOR_REQUIREMENTS = 64;
/** Of all requirements together. */
export const MAX_SELECTOR_VALUES = 256;

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
