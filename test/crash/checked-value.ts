import { createHash } from 'node:crypto';

const DIGEST = 32;

/** A value with a hash of its key and content. From a few bytes to many pages of the database. */
export function checkedValue(key: string, nonce: string, padding: number): Uint8Array {
  const body = Buffer.from(`${key}\n${nonce}\n${'x'.repeat(padding)}`);
  return Buffer.concat([createHash('sha256').update(body).digest(), body]);
}

/** The nonce, or undefined when the bytes are not a `checkedValue` of this key. */
export function nonceOf(key: string, value: Uint8Array): string | undefined {
  const body = Buffer.from(value).subarray(DIGEST);
  const digest = createHash('sha256').update(body).digest();
  if (!digest.equals(Buffer.from(value).subarray(0, DIGEST))) return undefined;
  const [owner, nonce] = body.toString().split('\n');
  return owner === key ? nonce : undefined;
}
