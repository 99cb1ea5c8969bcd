import { ApiError } from '../status.ts';
import { toJson } from './encode.ts';
import { JsonSyntaxError, parseJson } from './parse-json.ts';
import type { Shape, StructShape } from './shape.ts';
import { type JsonNode, ObjectNode, toPlain } from './tree.ts';
import { MAX_VIOLATIONS, type Path, pathText } from './violations.ts';

/**
 * Of the kinds that live in a cluster Clusterpass keeps a part: of a pod what binds a token, of a secret never its
 * data. The manifest of a whole object is accepted. The fields that are not kept are dropped with a warning, whatever
 * `fieldValidation` says. Other unknown fields stay in the tree, where the schema reader reports them.
 */

/** kubectl stores the whole manifest in it, with the fields that are not kept. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Paths that a warning names. */
const MAX_NAMED = 20;

/** Directives of a strategic merge patch that are about another field, which follows the slash. */
const FIELD_DIRECTIVE = /^\$(?:setElementOrder|deleteFromPrimitiveList)\//;

type Walk = { readonly isPatch: boolean; readonly dropped: Set<string> };

/**
 * Drops the fields that the kind does not keep from a body, or with `isPatch` from a strategic merge patch. `dropped`:
 * the paths of those that had a value, in document order.
 */
export function keepPart(root: JsonNode, shape: StructShape, { isPatch = false } = {}) {
  if (!shape.keepsPart) return { root, dropped: [] };
  const dropped = new Set<string>();
  const kept = keep({ isPatch, dropped }, root, shape, undefined);
  const cleaned = changeMember(kept, 'metadata', (metadata) =>
    changeMember(metadata, 'annotations', (annotations) =>
      changeMember(annotations, LAST_APPLIED, (text) => cleanLastApplied(text, shape, dropped)),
    ),
  );
  return { root: cleaned, dropped: [...dropped] };
}

/** The warning about dropped fields. */
export function droppedText(kind: string, dropped: readonly string[]): string {
  const more = dropped.length > MAX_NAMED ? ' and more' : '';
  return `Clusterpass keeps only a part of a ${kind}; dropped: ${dropped.slice(0, MAX_NAMED).join(', ')}${more}`;
}

/** Returns the same node when nothing is dropped. */
function keep(walk: Walk, node: JsonNode, shape: Shape, at: Path | undefined): JsonNode {
  if (shape.type === 'array' && Array.isArray(node)) {
    const items = node.map((item, key) => keep(walk, item, shape.items, { up: at, key, owner: undefined }));
    return items.some((item, index) => item !== node[index]) ? items : node;
  }
  if (shape.type !== 'struct' || !shape.keepsPart || !(node instanceof ObjectNode)) return node;
  const kept = new ObjectNode();
  let changed = false;
  node.keys.forEach((key, index) => {
    const value = node.values[index] ?? null;
    const here: Path = { up: at, key, owner: undefined };
    const field = walk.isPatch ? key.replace(FIELD_DIRECTIVE, '') : key;
    if (shape.notKept?.has(field) === true) {
      changed = true;
      if (field === key && !isEmpty(value) && walk.dropped.size < MAX_VIOLATIONS) walk.dropped.add(pathText(here));
      return;
    }
    const inner = shape.byName.get(key);
    const part = inner === undefined ? value : keep(walk, value, inner.shape, here);
    changed ||= part !== value;
    kept.add(key, part);
  });
  return changed ? kept : node;
}

/** Generated manifests have `status: {}` and the like: nothing is lost with it. */
function isEmpty(node: JsonNode): boolean {
  if (node === null) return true;
  if (Array.isArray(node)) return node.length === 0;
  return node instanceof ObjectNode && node.keys.length === 0;
}

/** The annotation says no more than the object. A text that cannot be read may say anything, and is dropped. */
function cleanLastApplied(text: JsonNode, shape: StructShape, dropped: Set<string>): JsonNode | undefined {
  if (typeof text !== 'string' || text === '') return text;
  try {
    const node = parseJson(Buffer.from(text));
    if (node instanceof ObjectNode) {
      const kept = keep({ isPatch: false, dropped: new Set() }, node, shape, undefined);
      return kept === node ? text : `${toJson(toPlain(kept))}\n`;
    }
  } catch (error) {
    if (!(error instanceof JsonSyntaxError || error instanceof ApiError)) throw error;
  }
  dropped.add(`metadata.annotations[${LAST_APPLIED}]`);
  return undefined;
}

/** The node with another value of a member, or without it if `change` returns undefined. */
function changeMember(node: JsonNode, key: string, change: (value: JsonNode) => JsonNode | undefined): JsonNode {
  if (!(node instanceof ObjectNode) || !node.keys.includes(key)) return node;
  const changed = new ObjectNode();
  node.keys.forEach((name, index) => {
    const before = node.values[index] ?? null;
    const value = name === key ? change(before) : before;
    if (value !== undefined) changed.add(name, value);
  });
  return changed;
}
