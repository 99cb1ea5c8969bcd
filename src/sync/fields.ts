import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '../api/kind.ts';
import { isJsonObject, memberOf } from '../lib/json.ts';

/** Whether an object has what a field manager applies. Decides between a write and none, without asking the server. */

/** Lists that are maps by a key: other managers may add items to them. */
const LIST_KEYS: Readonly<Record<string, string>> = { conditions: 'type', accessProviders: 'name', properties: 'name' };

/** Whether `actual` has every field of `applied` with its value. Fields of other managers are ignored. */
export function contains(actual: unknown, applied: unknown, field = ''): boolean {
  if (Array.isArray(applied)) {
    if (!Array.isArray(actual)) return false;
    const key = Object.hasOwn(LIST_KEYS, field) ? LIST_KEYS[field] : undefined;
    if (key === undefined) return isDeepStrictEqual(actual, applied);
    return applied.every((item) =>
      contains(
        actual.find((other) => memberOf(other, key) === memberOf(item, key)),
        item,
      ),
    );
  }
  if (!isJsonObject(applied)) return actual === applied;
  return Object.entries(applied).every(([name, value]) => contains(memberOf(actual, name), value, name));
}

/**
 * Whether the manager owns a field that it no longer applies, e.g. a label that was removed at the source: the next
 * apply removes it. `fieldsV1` needs no schema to be read: every step names its kind (`f:`, `k:`, `v:`).
 */
export function ownsMore(
  actual: ApiObject,
  applied: ApiObject,
  manager: string,
  subresource: '' | 'status' = '',
): boolean {
  const entry = actual.metadata.managedFields?.find(
    (each) => each.manager === manager && each.operation === 'Apply' && (each.subresource ?? '') === subresource,
  );
  return entry !== undefined && !covers(applied, entry.fieldsV1);
}

function covers(value: unknown, owned: unknown): boolean {
  if (!isJsonObject(owned)) return true;
  return Object.entries(owned).every(([step, below]) => {
    if (step === '.') return true;
    const child = childAt(value, step);
    return child !== undefined && covers(child, below);
  });
}

function childAt(value: unknown, step: string): unknown {
  const text = step.slice(2);
  if (step.startsWith('f:')) return memberOf(value, text);
  if (!Array.isArray(value)) return undefined;
  if (step.startsWith('i:')) return value[Number(text)];
  const wanted: unknown = JSON.parse(text);
  if (step.startsWith('v:')) return value.find((item) => isDeepStrictEqual(item, wanted));
  return value.find((item) => contains(item, wanted));
}
