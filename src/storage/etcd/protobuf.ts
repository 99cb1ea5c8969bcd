import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/**
 * Protobuf messages as tables of field number and type, from which the TypeScript type, the encoder and the decoder
 * follow. https://protobuf.dev/programming-guides/encoding/. The library reads and writes the wire format.
 */
interface Field<T> {
  readonly number: number;
  readonly wire: WireType;
  /** The value of a field that a message does not carry. */
  readonly absent: () => T;
  readonly write: (writer: BinaryWriter, value: NonNullable<T>) => void;
  /** Gets the value so far: a repeated field grows with every occurrence. */
  readonly read: (reader: BinaryReader, before: T) => T;
}

// biome-ignore lint/suspicious/noExplicitAny: a table of fields of every type
type Fields = Readonly<Record<string, Field<any>>>;

type ValueOf<F extends Fields> = { [N in keyof F]: F[N] extends Field<infer T> ? T : never };

export interface Message<T> {
  /** Encodes the fields that are given, also zeros: in a oneof they matter. */
  encode(value: Partial<T>): Uint8Array;
  /** The same into the buffer of a message around it. */
  write(writer: BinaryWriter, value: Partial<T>): void;
  decode(bytes: Uint8Array): T;
}

export type Decoded<M> = M extends Message<infer T> ? T : never;

export function message<F extends Fields>(fields: F): Message<ValueOf<F>> {
  const entries = Object.entries(fields);
  const byNumber = new Map(entries.map(([name, field]) => [field.number, { name, field }]));
  const write = (writer: BinaryWriter, value: Partial<ValueOf<F>>): void => {
    for (const [name, field] of entries) {
      const given = value[name];
      if (given !== undefined) field.write(writer, given);
    }
  };
  return {
    write,
    encode(value) {
      const writer = new BinaryWriter();
      write(writer, value);
      return writer.finish();
    },
    decode(bytes) {
      const reader = new BinaryReader(bytes);
      const value: Record<string, unknown> = {};
      for (const [name, field] of entries) value[name] = field.absent();
      while (reader.pos < reader.len) {
        const [number, wire] = reader.tag();
        const known = byNumber.get(number);
        // Newer servers send fields that are not in the table.
        if (known === undefined || known.field.wire !== wire) reader.skip(wire, number);
        else value[known.name] = known.field.read(reader, value[known.name]);
      }
      return value as ValueOf<F>;
    },
  };
}

/** The methods with which the library reads and writes a type. */
type ScalarMethod = 'bytes' | 'string' | 'bool' | 'int64';

const scalar = <T>(
  number: number,
  method: ScalarMethod,
  zero: T,
  read = (reader: BinaryReader): T => reader[method]() as T,
): Field<T> => {
  const wire = method === 'bytes' || method === 'string' ? WireType.LengthDelimited : WireType.Varint;
  return { number, wire, absent: () => zero, write: (to, value) => to.tag(number, wire)[method](value as never), read };
};

const EMPTY: Uint8Array = new Uint8Array(0);

export const bytes = (number: number): Field<Uint8Array> => scalar(number, 'bytes', EMPTY);
export const text = (number: number): Field<string> => scalar(number, 'string', '');
export const flag = (number: number): Field<boolean> => scalar(number, 'bool', false);

/** An int64 that counts: a revision, a limit. Refused beyond 2^53, where a number would be inexact. */
export const count = (number: number): Field<number> =>
  scalar(number, 'int64', 0, (reader) => {
    const value = Number(reader.int64());
    if (!Number.isSafeInteger(value)) throw new RangeError(`field ${number} holds a number beyond 2^53`);
    return value;
  });

/** An int64 identifier that uses all 64 bits: a lease. */
export const id = (number: number): Field<bigint> => scalar(number, 'int64', 0n, (reader) => BigInt(reader.int64()));

/** `fork` and `join` write the length of a nested message around it. */
function writeNested<T>(writer: BinaryWriter, number: number, inner: Message<T>, value: Partial<T>): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  inner.write(writer, value);
  writer.join();
}

export const one = <T>(number: number, inner: Message<T>): Field<T | undefined> => ({
  number,
  wire: WireType.LengthDelimited,
  absent: () => undefined,
  write: (writer, value) => writeNested(writer, number, inner, value),
  read: (reader) => inner.decode(reader.bytes()),
});

/** A nested message that is only sent, with some of its fields. */
export const part = <T>(number: number, inner: Message<T>): Field<Partial<T> | undefined> =>
  one(number, inner) as unknown as Field<Partial<T> | undefined>;

export const many = <T>(number: number, inner: Message<T>): Field<T[]> => ({
  number,
  wire: WireType.LengthDelimited,
  absent: () => [],
  write: (writer, values) => {
    for (const value of values) writeNested(writer, number, inner, value);
  },
  read: (reader, before) => {
    before.push(inner.decode(reader.bytes()));
    return before;
  },
});

/** Repeated messages that are only sent, each with some of their fields. */
export const parts = <T>(number: number, inner: Message<T>): Field<Partial<T>[]> =>
  many(number, inner) as unknown as Field<Partial<T>[]>;
