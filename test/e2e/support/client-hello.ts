import { randomBytes } from 'node:crypto';

/** Handshakes that no client library would send. */

/** Bytes after their length, which takes `octets` bytes. */
function counted(octets: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const length = Buffer.alloc(octets);
  length.writeUIntBE(content.length, 0, octets);
  return Buffer.concat([length, content]);
}
export const bytes = (...values: number[]): Buffer => Buffer.from(values);
const extension = (type: number, ...parts: readonly Uint8Array[]): Buffer =>
  Buffer.concat([bytes(type >> 8, type & 0xff), counted(2, ...parts)]);

export interface HelloOptions {
  readonly name: Uint8Array;
  /** Of ALPN. */
  readonly protocols?: readonly Uint8Array[];
}

/**
 * A whole ClientHello of TLS 1.2 (RFC 5246 7.4.1.2) that asks for this name (RFC 6066 section 3) and these protocols
 * (RFC 7301 section 3.1).
 */
export function clientHello({ name, protocols }: HelloOptions): Buffer {
  const extensions = counted(
    2,
    extension(0x0000, counted(2, bytes(0), counted(2, name))),
    // Curves, point formats and signature algorithms: without them the server can choose none.
    extension(0x000a, counted(2, bytes(0x00, 0x1d, 0x00, 0x17))),
    extension(0x000b, counted(1, bytes(0))),
    extension(0x000d, counted(2, bytes(0x04, 0x03, 0x08, 0x04, 0x04, 0x01))),
    ...(protocols === undefined ? [] : [extension(0x0010, counted(2, ...protocols.map((each) => counted(1, each))))]),
  );
  const hello = Buffer.concat([
    bytes(3, 3),
    randomBytes(32),
    bytes(0),
    counted(2, bytes(0xc0, 0x2b, 0xc0, 0x2f)),
    counted(1, bytes(0)),
    extensions,
  ]);
  return Buffer.concat([bytes(0x16, 3, 1), counted(2, bytes(1), counted(3, hello)), closeNotify]);
}
/** Sent right after the ClientHello: the server closes the connection, whether it knows the name or not. */
const closeNotify = bytes(0x15, 3, 3, 0, 2, 1, 0);
