import { encodeValue } from '../../../api/codec/encode.ts';
import { isTooLarge } from '../../../api/names.ts';
import { isJsonObject, type JsonMap, type JsonValue, memberOf, parsedJson } from '../../../lib/json.ts';
import { compare } from './compare.ts';
import { difference, type FieldSet, union } from './field-set.ts';
import { fieldSetOf } from './field-set-of.ts';
import type { Conflict, FieldRules } from './ownership.ts';
import { schemaErrors } from './schema-errors.ts';

/**
 * AP-69: how `kubectl apply --server-side` takes over what `kubectl apply` wrote. The latter keeps the configuration
 * that it applied in an annotation.
 */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Without the conflicts about fields of the last applied configuration that still have its value. */
export function forgiveLastApplied(
  conflicts: readonly Conflict[],
  live: JsonMap | undefined,
  rules: FieldRules,
): readonly Conflict[] {
  if (conflicts.length === 0 || live === undefined) return conflicts;
  const allowed = unchangedSince(memberOf(annotationsOf(live), LAST_APPLIED), live, rules);
  if (allowed === undefined) return conflicts;
  return conflicts
    .map(({ manager, paths }) => ({ manager, paths: difference(paths, allowed) }))
    .filter(({ paths }) => !paths.isEmpty);
}

function unchangedSince(text: JsonValue | undefined, live: JsonMap, rules: FieldRules): FieldSet | undefined {
  const { shape, apiVersion } = rules;
  const config = typeof text === 'string' ? parsedJson(text) : undefined;
  if (!isJsonObject(config) || memberOf(config, 'apiVersion') !== apiVersion) return undefined;
  if (schemaErrors(config, shape) !== undefined) return undefined;
  const { added, modified, removed } = compare(config, live, shape);
  return difference(fieldSetOf(config, shape), union(union(added, modified), removed));
}

/** The object with the annotation brought up to date, if it has one. Its owner stays the same. */
export function withLastApplied(object: JsonMap, config: JsonMap): JsonMap {
  const annotations = annotationsOf(object);
  if ((memberOf(annotations, LAST_APPLIED) ?? '') === '') return object;
  const { [LAST_APPLIED]: _, ...others } = annotations;
  const updated = { ...others, [LAST_APPLIED]: `${encodeValue(withoutLastApplied(config), undefined, 'custom')}\n` };
  const annotated = isTooLarge(updated) ? others : updated;
  return { ...object, metadata: { ...metadataOf(object), annotations: annotated } };
}

function withoutLastApplied(config: JsonMap): JsonMap {
  const annotations = annotationsOf(config);
  if (!Object.hasOwn(annotations, LAST_APPLIED)) return config;
  const { [LAST_APPLIED]: _, ...others } = annotations;
  return { ...config, metadata: { ...metadataOf(config), annotations: others } };
}

function metadataOf(object: JsonMap): JsonMap {
  const metadata = memberOf(object, 'metadata');
  return isJsonObject(metadata) ? metadata : {};
}

function annotationsOf(object: JsonMap): JsonMap {
  const annotations = memberOf(metadataOf(object), 'annotations');
  return isJsonObject(annotations) ? annotations : {};
}
