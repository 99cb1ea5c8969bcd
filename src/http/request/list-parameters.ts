import { toGoInt64 } from '../../api/codec/go-text/go-parse.ts';
import type { Query } from '../../api/request.ts';
import { parseFieldSelector, SelectorSyntaxError } from '../../objects/selectors/field-selector.ts';

/**
 * The two list parameters that decide what a request is before a handler reads them all: whether it is a
 * watch, and whether a field selector narrows it to one name.
 */

/** L-21: present is true, unless it says `0` or `false`. */
export const truthy = (value: string | null): boolean =>
  value !== null && value !== '0' && value.toLowerCase() !== 'false';

/**
 * The name in `fieldSelector=metadata.name=X`, or `""`. Options that cannot be decoded count for nothing
 * (P-03): the handler will refuse them, and until then the question is about the whole collection.
 */
export function nameBySelector(query: Query): string {
  const selector = query.get('fieldSelector');
  if (selector === null || selector === '') return '';
  for (const key of ['limit', 'timeoutSeconds']) {
    const value = query.get(key);
    if (value !== null && toGoInt64(value) === undefined) return '';
  }
  const name = exactName(selector);
  const isPathSegment = name !== '.' && name !== '..' && !/[/%]/.test(name);
  return isPathSegment ? name : '';
}

/** What a well-formed selector says the name must be, else `""`. */
function exactName(selector: string): string {
  try {
    return parseFieldSelector(selector).exactValue('metadata.name') ?? '';
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return '';
    throw error;
  }
}
