import { Type } from 'typebox';
import { bodySchema, type Shape, type StructShape, UNKNOWN_SHAPE } from '../codec/shape.ts';
import type { BodyType } from '../kind.ts';
import { int64, struct, text, typeMeta } from './meta.ts';

/**
 * The forms of `Accept: ...;as=`. They are built-in types, also those of custom resources, so their fields have the
 * order of built-in types (B-01, B-06).
 */

const PartialMetadataSchema = struct('PartialObjectMetadata', '', typeMeta);

export const PARTIAL_METADATA_SHAPE = bodySchema(PartialMetadataSchema).shape;

const ROW_SHAPE = bodySchema(
  struct('TableRow', '', { cells: Type.Array(Type.Unknown()), object: PartialMetadataSchema }),
).shape;

const ColumnSchema = Type.Object({
  name: text(),
  type: text(),
  format: text(),
  description: text(),
  priority: int64(),
});

const TABLE_SHAPE = bodySchema(
  struct('Table', '', {
    kind: typeMeta.kind,
    apiVersion: typeMeta.apiVersion,
    metadata: Type.Object({ resourceVersion: text() }),
    columnDefinitions: Type.Array(ColumnSchema),
    rows: Type.Array(Type.Unknown()),
  }),
).shape;

/** A row of a table; with `type` its object is whole, else metadata alone. */
export function rowShape(type: Pick<BodyType, 'shape' | 'style'> | undefined): StructShape {
  if (type === undefined) return ROW_SHAPE;
  return withShape(ROW_SHAPE, 'object', type.style === 'custom' ? UNKNOWN_SHAPE : type.shape);
}

export function tableShape(row: StructShape): StructShape {
  const rows = TABLE_SHAPE.byName.get('rows')?.shape;
  if (rows?.type !== 'array') throw new TypeError('a table has rows');
  return withShape(TABLE_SHAPE, 'rows', { ...rows, items: row });
}

const withShape = (struct: StructShape, name: string, shape: Shape): StructShape => ({
  ...struct,
  fields: struct.fields.map((field) => (field.name === name ? { ...field, shape } : field)),
});
