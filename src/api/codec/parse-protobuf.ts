import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { JsonSyntaxError, parseJson } from './parse-json.ts';
import type { ArrayShape, Field, LeafShape, MapShape, Shape, StructShape } from './shape.ts';
import { type JsonNode, NumberNode, ObjectNode, TreeBudget } from './tree.ts';
import type { TypeMeta } from './type-meta.ts';
import { decodeUtf8 } from './utf8.ts';

export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}

/** The wrapper of every message (`runtime.Unknown`): its type and its bytes. */
export interface Envelope extends TypeMeta {
  readonly raw: Uint8Array;
}

const EMPTY = new Uint8Array();
const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

/** D-11. @throws ProtobufError, ApiError 400 */
export function openEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length === 0) throw new ProtobufError('empty data');
  if (MAGIC.some((byte, index) => bytes[index] !== byte)) {
    throw new ProtobufError(
      `provided data does not appear to be a protobuf message, expected prefix [${MAGIC.join(' ')}]`,
    );
  }
  if (bytes.length === MAGIC.length) throw new ProtobufError('empty body');
  const envelope: { apiVersion: string; kind: string; raw: Uint8Array } = { apiVersion: '', kind: '', raw: EMPTY };
  const budget = new TreeBudget();
  const setText = (key: 'apiVersion' | 'kind') => (text: Uint8Array) => {
    envelope[key] = decodeUtf8(text);
  };
  eachPart(bytes.subarray(MAGIC.length), budget, {
    1: (type) => eachPart(type, budget, { 1: setText('apiVersion'), 2: setText('kind') }),
    2: (raw) => {
      envelope.raw = raw;
    },
  });
  return envelope;
}

/**
 * Decodes a message by the shape of its type, into the same tree as JSON. Unknown fields are skipped (S-08). An empty
 * string means absence, since Go writes every string. A `keepNull` field that is absent is null: the format cannot tell
 * the two apart.
 *
 * @throws ProtobufError
 * @throws ApiError 400 when it has too many parts, or a text that is not UTF-8.
 */
export function parseMessage(bytes: Uint8Array, shape: StructShape): ObjectNode {
  return new MessageReader().struct([bytes], shape);
}

type Value = Uint8Array | bigint;

class MessageReader {
  readonly #budget = new TreeBudget();

  /** A field that occurs several times is one message: later fields win, lists are appended. */
  struct(pieces: readonly Uint8Array[], shape: StructShape): ObjectNode {
    const found = new Map<Field, Value[]>();
    for (const piece of pieces) {
      eachField(piece, this.#budget, (number, reader, wireType) => {
        const field = shape.byNumber.get(number);
        if (field === undefined) {
          reader.skip(wireType);
          return;
        }
        this.#budget.element();
        const values = found.get(field) ?? [];
        found.set(field, values);
        values.push(readValue(reader, wireType, field));
      });
    }
    const node = new ObjectNode();
    for (const field of shape.fields) {
      const values = found.get(field);
      const value = values === undefined ? this.#absent(field) : this.#read(values, field.shape);
      if (value === undefined) continue;
      this.#budget.key();
      node.add(field.name, value);
    }
    return node;
  }

  #absent({ keepNull, shape }: Field): JsonNode | undefined {
    if (keepNull) return null;
    const impliesNull = shape.type === 'struct' && shape.fields.some((field) => field.keepNull);
    return impliesNull ? this.struct([], shape) : undefined;
  }

  #read(values: readonly Value[], shape: Shape): JsonNode | undefined {
    switch (shape.type) {
      case 'struct':
        return this.struct(values as Uint8Array[], shape);
      case 'map':
        return this.#map(values as Uint8Array[], shape);
      case 'array':
        return this.#array(values, shape);
      case 'any':
        return this.#fieldsV1(values.at(-1) as Uint8Array);
      default:
        return leaf(values.at(-1) ?? 0n, shape, this.#budget);
    }
  }

  #array(values: readonly Value[], { items }: ArrayShape): JsonNode {
    return values.map((value) => this.#read([value], items) ?? '');
  }

  #map(entries: readonly Uint8Array[], { values }: MapShape): ObjectNode {
    const node = new ObjectNode();
    for (const entry of entries) {
      let key = '';
      let value: JsonNode = values.type === 'array' ? [] : '';
      eachPart(entry, this.#budget, {
        1: (text) => {
          key = decodeUtf8(text);
        },
        2: (bytes) => {
          value = this.#mapValue(bytes, values);
        },
      });
      this.#budget.key();
      node.add(key, value);
    }
    return node;
  }

  /** Protobuf has no map of lists: such a value is a message whose field 1 is the list. */
  #mapValue(bytes: Uint8Array, shape: Shape): JsonNode {
    if (shape.type !== 'array') return this.#read([bytes], shape) ?? '';
    const items: Uint8Array[] = [];
    eachPart(bytes, this.#budget, {
      1: (item) => {
        this.#budget.element();
        items.push(item);
      },
    });
    return this.#array(items, shape);
  }

  /**
   * `FieldsV1{1: Raw}`, the only type whose content is JSON. Raw that is no JSON becomes text: a set that cannot be
   * read, and is not empty.
   */
  #fieldsV1(bytes: Uint8Array): JsonNode | undefined {
    let raw: Uint8Array = EMPTY;
    eachPart(bytes, this.#budget, {
      1: (part) => {
        raw = part;
      },
    });
    if (raw.length === 0) return undefined;
    const text = decodeUtf8(raw);
    try {
      return parseJson(text, this.#budget);
    } catch (error) {
      if (error instanceof JsonSyntaxError) return text;
      throw error;
    }
  }
}

function leaf(value: Value, { type }: LeafShape, budget: TreeBudget): JsonNode | undefined {
  switch (type) {
    case 'integer':
      return new NumberNode(String(value));
    case 'boolean':
      return value !== 0n;
    case 'byte':
      return Buffer.from(value as Uint8Array).toString('base64');
    case 'date-time':
      return timestamp(value as Uint8Array, budget);
    default:
      return decodeUtf8(value as Uint8Array) || undefined;
  }
}

/** `Time{1: seconds, 2: nanos}`; fractions of a second are dropped, as in JSON. Empty means no time. */
function timestamp(bytes: Uint8Array, budget: TreeBudget): string | undefined {
  let seconds = 0n;
  eachField(bytes, budget, (number, reader, wireType) => {
    if (number === 1 && wireType === WireType.Varint) seconds = BigInt(reader.int64());
    else reader.skip(wireType);
  });
  if (seconds === 0n) return undefined;
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999 || date.getUTCFullYear() < 0) {
    throw new ProtobufError('proto: a time is out of range');
  }
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}

function readValue(reader: BinaryReader, wireType: WireType, { name, shape }: Field): Value {
  const element = shape.type === 'array' ? shape.items : shape;
  const isNumber = element.type === 'integer' || element.type === 'boolean';
  if (wireType !== (isNumber ? WireType.Varint : WireType.LengthDelimited)) {
    throw new ProtobufError(`proto: wrong wireType = ${wireType} for field ${name}`);
  }
  return isNumber ? BigInt(reader.int64()) : reader.bytes();
}

/** Visits texts and messages by their field numbers. */
function eachPart(
  bytes: Uint8Array,
  budget: TreeBudget,
  visitors: Readonly<Record<number, (part: Uint8Array) => void>>,
): void {
  eachField(bytes, budget, (number, reader, wireType) => {
    const visit = visitors[number];
    if (visit === undefined) reader.skip(wireType);
    else if (wireType === WireType.LengthDelimited) visit(reader.bytes());
    else throw new ProtobufError(`proto: wrong wireType = ${wireType}`);
  });
}

/** Visits every field; the visitor reads or skips the value. Groups, which are deprecated, are refused. */
function eachField(
  bytes: Uint8Array,
  budget: TreeBudget,
  visit: (number: number, reader: BinaryReader, wireType: WireType) => void,
): void {
  const reader = new BinaryReader(bytes);
  try {
    while (reader.pos < reader.len) {
      budget.field();
      const [number, wireType] = reader.tag();
      if (wireType === WireType.StartGroup || wireType === WireType.EndGroup) {
        throw new ProtobufError(`proto: illegal wireType ${wireType}`);
      }
      visit(number, reader, wireType);
    }
  } catch (error) {
    // The library throws Error and RangeError; other errors are ours and have their message.
    if (error instanceof Error && (error.constructor === Error || error instanceof RangeError)) {
      throw new ProtobufError(`proto: ${error.message}`);
    }
    throw error;
  }
}
