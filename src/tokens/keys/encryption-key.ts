import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateDirectory, ensureSecretFile, readSecretFile, UnsafeFile } from '../../lib/secret-file.ts';

/** Nothing decrypts the signing keys then. The objects beside them are not encrypted. */
export const IF_LOST =
  'If it is lost, move the objects to a store with new signing keys: clusterpass store export, then clusterpass store ' +
  'import --without-signing-keys.';

/**
 * Encrypts secrets in the store (AES-256-GCM). A copy or a backup of the store is useless without this key, and a
 * writer of the store cannot insert a secret without it.
 */
export interface EncryptionKey {
  /** Identifies the key without revealing it. */
  readonly id: string;
  /** A value that was sealed for one purpose cannot be unsealed for another. */
  seal(plain: Uint8Array, purpose: string): Buffer;
  /** Undefined when it was not sealed with this key for this purpose, or was changed since. */
  unseal(sealed: Uint8Array, purpose: string): Buffer | undefined;
  /** 32 bytes for one purpose, the same in every replica. They do not reveal the key (HKDF, RFC 5869). */
  derive(purpose: string): Uint8Array;
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const BASE64 = /^[A-Za-z0-9+/]{43}=\s*$/;

/**
 * From the given file, or from one in the data directory, which the first start creates. It is not created for a store
 * with signing keys: they are encrypted with another one.
 */
export async function loadEncryptionKey(options: {
  readonly file: string | undefined;
  readonly dir: string;
  readonly hasSigningKeys: () => Promise<boolean>;
}): Promise<EncryptionKey> {
  if (options.file === undefined) {
    await ensurePrivateDirectory(options.dir);
    const path = join(options.dir, 'encryption.key');
    const make = async (): Promise<Buffer> => {
      if (!(await options.hasSigningKeys())) return randomBytes(KEY_BYTES);
      throw new UnsafeFile(
        `${path} does not exist, and the signing keys in the store are encrypted with it. Restore it, or give the file of that key with --encryption-key-file. ${IF_LOST}`,
      );
    };
    return encryptionKey(keyIn(path, await ensureSecretFile(path, make)));
  }
  // The operator may name a symbolic link, as mounted secrets are. The file behind it is checked.
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
    unseal(sealed, purpose) {
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
