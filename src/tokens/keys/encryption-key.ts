import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateDirectory, ensureSecretFile, readSecretFile, UnsafeFile } from '../../lib/secret-file.ts';

/**
 * The key under which secrets are kept in the store (AES-256-GCM). Whoever copies the store, or reads a backup of
 * it, has nothing without this key; whoever can write to the store can not put a secret of his own there.
 */
export interface EncryptionKey {
  /** Tells keys apart and says nothing about them. */
  readonly id: string;
  /** What was sealed for one purpose can not be opened for another. */
  seal(plain: Uint8Array, purpose: string): Buffer;
  /** Undefined when it was not sealed with this key for this purpose, or was changed since. */
  open(sealed: Uint8Array, purpose: string): Buffer | undefined;
  /** 32 bytes for one purpose, the same wherever this key is. They say nothing about it (HKDF, RFC 5869). */
  derive(purpose: string): Uint8Array;
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const BASE64 = /^[A-Za-z0-9+/]{43}=\s*$/;

/** From the file that was given, or from one in the data directory that is made at the first start. */
export async function openEncryptionKey(options: {
  readonly file: string | undefined;
  readonly dir: string;
}): Promise<EncryptionKey> {
  if (options.file === undefined) {
    await ensurePrivateDirectory(options.dir);
    const path = join(options.dir, 'encryption.key');
    return encryptionKey(keyIn(path, await ensureSecretFile(path, () => randomBytes(KEY_BYTES))));
  }
  // A link that the operator names is followed: secrets are mounted as links. What it leads to is checked.
  const path = await realpath(options.file);
  const content = await readSecretFile(path);
  if (content === undefined) throw new UnsafeFile(`${path} disappeared while it was read.`);
  return encryptionKey(keyIn(path, content));
}

function keyIn(path: string, content: Buffer): Buffer {
  if (content.length === KEY_BYTES) return content;
  const text = content.toString('latin1');
  if (BASE64.test(text)) return Buffer.from(text, 'base64');
  throw new UnsafeFile(
    `${path} must hold exactly ${KEY_BYTES} random bytes, as they are or in base64. Make one: openssl rand -base64 ${KEY_BYTES}`,
  );
}

export function encryptionKey(key: Uint8Array): EncryptionKey {
  return {
    derive: (purpose) => new Uint8Array(hkdfSync('sha256', key, '', `clusterpass ${purpose}`, KEY_BYTES)),
    id: createHash('sha256').update('clusterpass encryption key').update(key).digest('hex').slice(0, 16),
    seal(plain, purpose) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, purpose) {
      if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length);
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      } catch {
        return undefined;
      }
    },
  };
}
