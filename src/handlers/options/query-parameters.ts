import { type IntegerResult, parseGoInt64 } from '../../api/codec/go-text/go-parse.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { Query } from '../../api/request.ts';
import { badRequest } from '../../api/status.ts';
import { clip } from '../../lib/text.ts';

/** The API group in errors about options. */
export const META_GROUP = 'meta.k8s.io';

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['', true],
  ['1', true],
  ['true', true],
  ['0', false],
  ['false', false],
]);

/**
 * Undefined when absent. L-21: `?watch` and `?watch=` are true. Stricter than kube-apiserver, where everything else is
 * true as well: `watch=no` is a mistake, and an endless response would hide it. With `mayBeEmpty: false` an empty value
 * is a mistake too.
 */
export function booleanParameter(query: Query, name: string, { mayBeEmpty = true } = {}): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = text === '' && !mayBeEmpty ? undefined : BOOLEANS.get(text.toLowerCase());
  if (value === undefined) {
    throw badRequest(`${name}: Invalid value: ${goQuote(clip(text, 64))}: must be "true" or "false"`);
  }
  return value;
}

/**
 * L-20: a parameter that is present must be a number, even when it is empty. Stricter than kube-apiserver, where a
 * negative limit means no limit: a mistake must not become the most expensive request.
 */
export function countParameter(query: Query, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = integer(parseGoInt64(text));
  if (value < 0) throw badRequest(`${name}: Invalid value: ${value}: must be greater than or equal to 0`);
  return value;
}

/** Values above 2^53 - 1 are clamped to it. */
function integer(result: IntegerResult): number {
  if (!result.ok) throw badRequest(result.message);
  return result.value;
}
