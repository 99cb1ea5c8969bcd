import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** Writes protobuf field by field: tests also send messages that no client library can write. */
export type ProtoValue = string | Uint8Array | number | Proto | readonly (string | Proto)[];
export type Proto = { readonly [field: number]: ProtoValue };

export function message(fields: Proto): Uint8Array {
  const writer = new BinaryWriter();
  for (const [key, value] of Object.entries(fields)) {
    for (const one of Array.isArray(value) ? (value as readonly ProtoValue[]) : [value]) {
      if (typeof one === 'number') writer.tag(Number(key), WireType.Varint).int64(one);
      else {
        writer.tag(Number(key), WireType.LengthDelimited);
        if (typeof one === 'string') writer.string(one);
        else writer.bytes(one instanceof Uint8Array ? one : message(one as Proto));
      }
    }
  }
  return writer.finish();
}

const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

/** A message in a `runtime.Unknown`, after Kubernetes' magic number. */
export const envelope = (apiVersion: string, kind: string, raw: Uint8Array): Uint8Array =>
  Buffer.concat([MAGIC, message({ 1: { 1: apiVersion, 2: kind }, 2: raw })]);
