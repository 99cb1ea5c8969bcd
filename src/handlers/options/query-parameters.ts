import { type IntegerResult, parseGoInt64 } from '../../api/codec/go-text/go-parse.ts';
import type { Query } from '../../api/request.ts';
import { badRequest } from '../../api/status.ts';

/** The API group in errors about options. */
export const META_GROUP = 'meta.k8s.io';

/** L-21: only `0` and `false` are false. `?watch=` and `?watch=no` are true. Undefined when absent. */
export function booleanParameter(query: Query, name: string): boolean | undefined {
  const value = query.get(name);
  return value === null ? undefined : value !== '0' && value.toLowerCase() !== 'false';
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
