import type { TSchema } from 'typebox';
import { PROTOBUF_FIELDS } from './protobuf-fields.ts';

/** The value of a field that is absent. */
export const UNSET = Symbol('unset');

/**
 * How bodies of a type are read and written.
 * `builtin`: like kube-apiserver's own types: kind and apiVersion may be left out, violations in document order.
 * `custom`: like a custom resource: both are required, keys are written sorted, duplicates are reported first.
 */
export type BodyStyle = 'builtin' | 'custom';

/** A schema in the form that decoding and encoding use. Derived once, when a type is defined; see `bodySchema`. */
export type Shape = StructShape | MapShape | ArrayShape | LeafShape;

export interface StructShape {
  readonly type: 'struct';
  readonly goType: string;
  /** In the order in which they are written. */
  readonly fields: readonly Field[];
  readonly byName: ReadonlyMap<string, Field>;
  /** By the field numbers of Kubernetes' protobuf; empty for a type that cannot be sent as protobuf. */
  readonly byNumber: ReadonlyMap<number, Field>;
  /** `UNSET` for each field, to be copied. */
  readonly blank: readonly (typeof UNSET)[];
  /** Members that must not be true, and why. As unknown fields they would be ignored without an error. */
  readonly refused: ReadonlyMap<string, string>;
  /** Unknown members and nulls are errors, whatever the request says about unknown fields. */
  readonly isStrict: boolean;
  /** Members that are dropped with a warning. */
  readonly notKept: ReadonlySet<string> | undefined;
  /** Whether this struct, or one inside, has `notKept`. */
  readonly keepsPart: boolean;
  /** Server-side apply treats it as one value. */
  readonly isAtomic: boolean;
}

export interface Field {
  readonly name: string;
  /** Its name in `fieldsV1` of `metadata.managedFields`. Every write needs it, so it is not made each time. */
  readonly element: string;
  readonly index: number;
  readonly shape: Shape;
  /** An explicit null is kept. */
  readonly keepNull: boolean;
}

export interface MapShape {
  readonly type: 'map';
  readonly goType: string;
  readonly values: Shape;
  readonly maxItems: number;
  readonly isAtomic: boolean;
}

export interface ArrayShape {
  readonly type: 'array';
  readonly goType: string;
  readonly items: Shape;
  /** A longer list is refused before any item is read. */
  readonly maxItems: number;
  /** AP-46: `atomic` is one value; items of a `set` are equal by value, those of a `map` by their keys. */
  readonly listType: 'atomic' | 'set' | 'map';
  /** Of a `map`. */
  readonly keys: readonly string[];
  /** What a key counts as that an item leaves out. */
  readonly keyDefaults: ReadonlyMap<string, string>;
}

export interface LeafShape {
  readonly type: 'string' | 'date-time' | 'byte' | 'integer' | 'boolean' | 'any';
  readonly goType: string;
  /** Of a text, in UTF-16 code units: a longer one is refused before it is decoded or repeated. */
  readonly maxLength: number;
}

/** Of a value without a schema: one value for patches, and what Go holds in a map, with sorted keys, for encoders. */
export const UNKNOWN_SHAPE: Shape = { type: 'any', goType: 'interface {}', maxLength: Number.POSITIVE_INFINITY };

/**
 * The keywords that shapes and OpenAPI are made of: those of JSON Schema that TypeBox writes (`patternProperties` is
 * how it writes a Record), and ours, which BodyType explains.
 */
export interface SchemaNode {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly goType?: string;
  readonly keepNull?: boolean;
  readonly refused?: Readonly<Record<string, string>>;
  readonly strict?: boolean;
  readonly notKept?: readonly string[];
  readonly default?: string;
  readonly mapType?: 'atomic';
  readonly listMapKeys?: readonly string[];
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
}

/** The two fields of a `BodyType` that describe its content: a JSON Schema, and the shape that is derived from it. */
export function bodySchema<T extends TSchema>(schema: T): { readonly schema: T; readonly shape: StructShape } {
  const shape = compile(schema as SchemaNode);
  if (shape.type !== 'struct') throw new TypeError('the schema of a body must be an object');
  return { schema, shape };
}

function compile(schema: SchemaNode): Shape {
  const { goType } = schema;
  switch (schema.type) {
    case 'object':
      return schema.patternProperties === undefined ? struct(schema) : map(schema, schema.patternProperties);
    case 'array': {
      const items = compile(schema.items ?? {});
      const { maxItems = Number.POSITIVE_INFINITY } = schema;
      return { type: 'array', goType: goType ?? `[]${items.goType}`, items, maxItems, ...listRules(schema) };
    }
    case 'string':
      if (schema.format === 'byte') return leaf('byte', '[]uint8', schema);
      // Go reads a time as a string first: that is the type in its message.
      return leaf(schema.format === 'date-time' ? 'date-time' : 'string', 'string', schema);
    case 'integer':
      return leaf('integer', goType ?? 'int64');
    case 'boolean':
      return leaf('boolean', goType ?? 'bool');
    default:
      return leaf('any', goType ?? 'interface {}');
  }
}

const leaf = (
  type: LeafShape['type'],
  goType: string,
  { maxLength = Number.POSITIVE_INFINITY }: Pick<SchemaNode, 'maxLength'> = {},
): LeafShape => ({ type, goType, maxLength });

/** How patches and server-side apply merge a list. Without annotations it is one value. */
export function listRules(schema: {
  readonly items?: { readonly properties?: Readonly<Record<string, { readonly default?: string }>> };
  readonly listMapKeys?: readonly string[];
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
}): Pick<ArrayShape, 'listType' | 'keys' | 'keyDefaults'> {
  const { patchStrategy, patchMergeKey, listMapKeys, items } = schema;
  const keys = listMapKeys ?? (patchStrategy === 'merge' && patchMergeKey !== undefined ? [patchMergeKey] : []);
  const keyDefaults = new Map(
    keys.flatMap((key) => {
      const value = items?.properties?.[key]?.default;
      return value === undefined ? [] : [[key, value] as const];
    }),
  );
  if (keys.length > 0) return { listType: 'map', keys, keyDefaults };
  return { listType: patchStrategy === 'merge' ? 'set' : 'atomic', keys, keyDefaults };
}

function struct(schema: SchemaNode): StructShape {
  const fields = Object.entries(schema.properties ?? {}).map(([name, property], index) => ({
    name,
    element: `f:${name}`,
    index,
    shape: compile(property),
    keepNull: property.keepNull === true,
  }));
  const byName = new Map(fields.map((field) => [field.name, field]));
  const { goType = '' } = schema;
  const numbers = Object.entries(PROTOBUF_FIELDS[goType] ?? {});
  const byNumber = new Map(
    numbers.flatMap(([name, number]) => {
      const field = byName.get(name);
      return field === undefined ? [] : [[number, field] as const];
    }),
  );
  const refused = new Map(Object.entries(schema.refused ?? {}));
  const blank = fields.map((): typeof UNSET => UNSET);
  const notKept = schema.notKept && new Set(schema.notKept);
  const keepsPart = notKept !== undefined || fields.some(({ shape }) => keepsPartOf(shape));
  const isAtomic = schema.mapType === 'atomic';
  const isStrict = schema.strict === true;
  return { type: 'struct', goType, fields, byName, byNumber, blank, refused, isStrict, notKept, keepsPart, isAtomic };
}

function keepsPartOf(shape: Shape): boolean {
  if (shape.type === 'array') return keepsPartOf(shape.items);
  return shape.type === 'struct' && shape.keepsPart;
}

function map(schema: SchemaNode, patterns: Readonly<Record<string, SchemaNode>>): MapShape {
  const values = compile(Object.values(patterns)[0] ?? {});
  const { maxProperties: maxItems = Number.POSITIVE_INFINITY } = schema;
  const { goType = `map[string]${values.goType}`, mapType } = schema;
  return { type: 'map', goType, values, maxItems, isAtomic: mapType === 'atomic' };
}

/** As Go prints the type: names declared in an API package carry the package, `[]v1.OwnerReference`. */
export function printGoType(shape: Shape): string {
  return shape.goType.replace(/^((?:\[\]|map\[string\])*)(?=[A-Z])/, '$1v1.');
}
