import { Type } from 'typebox';
import type { BodyType } from '../kind.ts';
import { clusterKind } from '../kinds/cluster.ts';
import { int64, stringMap, text, timestamp, typeMeta } from '../kinds/meta.ts';
import { tokenRequestType } from '../kinds/token-request.ts';
import { decodeBody, type FieldValidation } from './decode.ts';
import { bodySchema } from './shape.ts';

export const cluster = clusterKind('orchestrator');

/** A type with a field of every sort. */
export const sample: BodyType = {
  group: 'example.dev',
  version: 'v1',
  kind: 'Sample',
  style: 'builtin',
  ...bodySchema(
    Type.Object(
      {
        ...typeMeta,
        time: timestamp(),
        data: Type.Optional(Type.String({ format: 'byte', goType: '[]uint8' })),
        count: int64(),
        flag: Type.Optional(Type.Boolean({ goType: 'bool' })),
        maybe: Type.Optional(Type.String({ keepNull: true })),
        anything: Type.Optional(Type.Unknown()),
        map: stringMap(),
        items: Type.Optional(Type.Array(Type.Object({ name: text() }, { goType: 'Item' }), { goType: '[]Item' })),
      },
      { goType: 'Sample' },
    ),
  ),
};

export type Input = string | Uint8Array;

export function decode(
  input: Input,
  type = tokenRequestType,
  mode: FieldValidation = 'Warn',
  mediaType = 'application/json',
) {
  const bytes = typeof input === 'string' ? new TextEncoder().encode(input) : input;
  return decodeBody<Record<string, unknown>>({ bytes, mediaType }, type, mode);
}

export const HANDLED = 'TokenRequest in version "v1" cannot be handled as a TokenRequest: ';
