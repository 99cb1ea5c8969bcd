import { listRules, type SchemaNode } from '../../api/codec/shape.ts';
import type { BodyType } from '../../api/kind.ts';
import { defined } from '../../lib/json.ts';

/** JSON of an OpenAPI document. */
export type Json = { readonly [key: string]: unknown };

const META_PREFIX = 'io.k8s.apimachinery.pkg.apis.meta.v1';
/** Types that all groups share. */
const META_TYPES: ReadonlySet<string> = new Set([
  'ObjectMeta',
  'OwnerReference',
  'ManagedFieldsEntry',
  'FieldsV1',
  'ListMeta',
  'LabelSelector',
  'LabelSelectorRequirement',
  'DeleteOptions',
  'Preconditions',
  'Patch',
  'Status',
  'StatusCause',
  'StatusDetails',
]);

/** Descriptions of the fields that every object has. */
const HEAD: Readonly<Record<string, string>> = {
  kind: 'The kind of the object.',
  apiVersion: 'The group and version of the API that this representation belongs to.',
  metadata: 'The name, labels, annotations and versions of the object.',
};

/**
 * Collects the named schemas of one document. As in kube-apiserver, every type of a built-in kind is a separate schema,
 * and a custom kind is one schema with everything but its metadata inline.
 */
export class SchemaComponents {
  readonly #schemas = new Map<string, Json>();

  /** Sorted by name, so that the document is deterministic. */
  get all(): Json {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** A reference to the type of a body; adds the type if it is new. */
  body(type: Pick<BodyType, 'group' | 'version' | 'kind' | 'schema'> & { readonly style?: BodyType['style'] }): Json {
    const name = componentName(type, type.kind);
    if (!this.#schemas.has(name)) {
      // Reserved first, because a type may refer to itself.
      this.#schemas.set(name, {});
      const owner = { ...type, inline: type.style === 'custom' };
      this.#schemas.set(name, { ...this.#object(type.schema as SchemaNode, owner, HEAD), ...gvk([type]) });
    }
    return ref(name);
  }

  list(kind: BodyType, listKind: string): Json {
    const name = componentName(kind, listKind);
    this.#schemas.set(name, {
      type: 'object',
      description: `A list of objects of kind ${kind.kind}.`,
      required: ['items'],
      properties: {
        apiVersion: { type: 'string', description: HEAD.apiVersion },
        items: { type: 'array', items: this.body(kind) },
        kind: { type: 'string', description: HEAD.kind },
        metadata: this.named('ListMeta', LIST_META),
      },
      ...gvk([{ ...kind, kind: listKind }]),
    });
    return ref(name);
  }

  /** Adds a schema that all groups share. */
  named(name: string, schema: Json): Json {
    const full = `${META_PREFIX}.${name}`;
    this.#schemas.set(full, schema);
    return ref(full);
  }

  #object(node: SchemaNode, owner: Owner, descriptions: Readonly<Record<string, string | undefined>> = {}): Json {
    const properties = Object.entries(node.properties ?? {}).map(([name, property]) => {
      const description = property.description ?? descriptions[name];
      return [name, this.#value(description === undefined ? property : { ...property, description }, owner)];
    });
    return {
      type: 'object',
      ...(node.description === undefined ? {} : { description: node.description }),
      properties: Object.fromEntries(properties),
      ...(node.mapType === undefined ? {} : { 'x-kubernetes-map-type': node.mapType }),
    };
  }

  #value(node: SchemaNode, owner: Owner): Json {
    const described = node.description === undefined ? {} : { description: node.description };
    switch (node.type) {
      case 'object':
        return this.#container(node, owner, described);
      case 'array':
        return {
          type: 'array',
          ...described,
          items: this.#value(node.items ?? {}, owner),
          ...limitsOf(node),
          ...listExtensions(node, owner),
        };
      case 'integer':
        return { type: 'integer', format: node.goType ?? 'int64', ...described };
      case 'string':
        return {
          type: 'string',
          ...(node.format === undefined ? {} : { format: node.format }),
          ...described,
          ...limitsOf(node),
          ...(node.default === undefined ? {} : { default: node.default }),
        };
      case undefined:
        return node.goType === 'FieldsV1' ? this.#fields(described) : { type: 'object', ...described };
      default:
        return { type: node.type, ...described };
    }
  }

  #fields(described: Json): Json {
    return { allOf: [this.named('FieldsV1', { type: 'object', description: 'A tree of field paths.' })], ...described };
  }

  #container(node: SchemaNode, owner: Owner, described: Json): Json {
    if (node.patternProperties !== undefined) {
      const values = Object.values(node.patternProperties)[0] ?? {};
      return { type: 'object', ...described, ...limitsOf(node), additionalProperties: this.#value(values, owner) };
    }
    const goType = node.goType ?? '';
    if (goType === '' || (owner.inline && !META_TYPES.has(goType))) return this.#object(node, owner);
    const name = componentName(owner, goType);
    if (!this.#schemas.has(name)) {
      this.#schemas.set(name, {});
      // The metadata is that of built-in kinds, also in a custom kind.
      const { description: _, ...bare } = this.#object(node, { ...owner, inline: false });
      this.#schemas.set(name, { ...bare, ...described });
    }
    // A `$ref` cannot have a description beside it.
    return node.description === undefined ? ref(name) : { allOf: [ref(name)], ...described };
  }
}

const limitsOf = ({ maxItems, maxProperties, maxLength }: SchemaNode): Json =>
  defined({ maxLength, maxItems, maxProperties });

interface Owner {
  readonly group: string;
  readonly version: string;
  readonly inline: boolean;
}

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

export const gvk = (types: readonly { group: string; version: string; kind: string }[]): Json => ({
  'x-kubernetes-group-version-kind': types.map(({ group, version, kind }) => ({ group, kind, version })),
});

/** `io.k8s.api.core.v1.Pod`; a custom group is reversed, as for every custom resource. */
function componentName({ group, version }: { group: string; version: string }, goType: string): string {
  if (META_TYPES.has(goType)) return `${META_PREFIX}.${goType}`;
  const first = group === '' ? 'core' : (group.split('.', 1)[0] ?? '');
  const builtin = BUILTIN_GROUPS.has(group);
  return builtin ? `io.k8s.api.${first}.${version}.${goType}` : `${reversed(group)}.${version}.${goType}`;
}

const BUILTIN_GROUPS: ReadonlySet<string> = new Set([
  '',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'rbac.authorization.k8s.io',
]);
const reversed = (group: string): string => group.split('.').reverse().join('.');

/** AP-82: how patches and server-side apply merge lists, from the annotations that they use. */
function listExtensions(node: SchemaNode, { inline }: Owner): Json {
  const { listType, keys } = listRules(node);
  // In a custom kind a list without the extension is atomic, and there are no strategic merge patches.
  if (inline) return listType === 'map' ? { 'x-kubernetes-list-map-keys': keys, 'x-kubernetes-list-type': 'map' } : {};
  return {
    ...(listType === 'map' ? { 'x-kubernetes-list-map-keys': keys } : {}),
    'x-kubernetes-list-type': listType,
    ...(node.patchMergeKey === undefined ? {} : { 'x-kubernetes-patch-merge-key': node.patchMergeKey }),
    ...(node.patchStrategy === undefined ? {} : { 'x-kubernetes-patch-strategy': node.patchStrategy }),
  };
}

const LIST_META: Json = {
  type: 'object',
  description: 'Metadata of a list.',
  properties: {
    continue: { type: 'string', description: 'The token of the next page; empty on the last page.' },
    remainingItemCount: {
      type: 'integer',
      format: 'int64',
      description: 'How many objects follow that the caller may see.',
    },
    resourceVersion: { type: 'string', description: 'The version of the list; a watch can start from it.' },
    selfLink: { type: 'string', description: 'The path of the request.' },
  },
};
