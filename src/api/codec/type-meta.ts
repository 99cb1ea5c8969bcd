import { truncate } from '../../lib/text.ts';
import type { BodyType } from '../kind.ts';
import { goKindOf, type JsonNode, ObjectNode } from './tree.ts';

export interface TypeMeta {
  readonly kind: string;
  readonly apiVersion: string;
}

export type GroupVersionKind = Pick<BodyType, 'group' | 'version' | 'kind'>;

/** A body whose type cannot be determined. The message is Go's. */
export class TypeMetaError extends Error {
  override readonly name = 'TypeMetaError';
}

/** How the message begins when the type cannot be read. */
export const NO_TYPE = "couldn't get version/kind; json parse error: ";

/** How Go prints the struct into which it reads the type: clients see it (D-05). */
const GO_STRUCT =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** Go's case folding: the Kelvin sign and the long s fold to ASCII letters. */
const KIND = /^[kK\u212a][iI][nN][dD]$/;
const API_VERSION = /^[aA][pP][iI][vV][eE][rR][sS\u017f][iI][oO][nN]$/;

/** Compares the length first: a body may have thousands of keys, and folding each would dominate decoding. */
function nameOf(key: string): keyof TypeMeta | undefined {
  if (key.length === 4) return KIND.test(key) ? 'kind' : undefined;
  return key.length === 10 && API_VERSION.test(key) ? 'apiVersion' : undefined;
}

/**
 * S-01: determines the type, with case-insensitive keys: `Kind` selects the kind, and is an unknown field afterwards.
 * Missing members and a null body give empty strings.
 */
export function sniffTypeMeta(root: JsonNode): TypeMeta {
  const found = { kind: '', apiVersion: '' };
  if (root === null) return found;
  if (!(root instanceof ObjectNode)) {
    throw new TypeMetaError(`${NO_TYPE}json: cannot unmarshal ${goKindOf(root)} into Go value of type ${GO_STRUCT}`);
  }
  for (let index = 0; index < root.keys.length; index++) {
    const name = nameOf(root.keys[index] ?? '');
    const value = name === undefined ? null : (root.values[index] ?? null);
    if (name === undefined || value === null) continue;
    if (typeof value !== 'string') {
      throw new TypeMetaError(
        `${NO_TYPE}json: cannot unmarshal ${goKindOf(value)} into Go struct field .${name} of type string`,
      );
    }
    found[name] = value;
  }
  return found;
}

/** The string member of this exact name; `""` when there is none. */
export function textMember(root: JsonNode, name: string): string {
  if (!(root instanceof ObjectNode)) return '';
  const value = root.values[root.keys.lastIndexOf(name)];
  return typeof value === 'string' ? value : '';
}

/** D-09 when there is more than one slash. */
export function parseApiVersion(text: string): { group: string; version: string } {
  const slash = text.indexOf('/');
  if (slash === -1) return { group: '', version: text };
  if (text.includes('/', slash + 1)) {
    throw new TypeMetaError(`unexpected GroupVersion string: ${truncate(text, 256)}`);
  }
  return { group: text.slice(0, slash), version: text.slice(slash + 1) };
}

/** D-04: what a built-in body leaves out defaults to the type of the endpoint. */
export function withDefaults(actual: GroupVersionKind, expected: GroupVersionKind): GroupVersionKind {
  const kind = actual.kind === '' ? expected.kind : actual.kind;
  if (actual.version !== '') return { ...actual, kind };
  if (actual.group !== '' && actual.group !== expected.group) return { ...actual, kind };
  return { group: expected.group, version: expected.version, kind };
}
