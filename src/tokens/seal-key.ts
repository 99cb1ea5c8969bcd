import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ensurePrivateDirectory, ensureSecretFile, UnsafeFile } from './secret-file.ts';

const SEAL_KEY_BYTES = 32;

/**
 * The AES-256 key that seals continue tokens. Kept on disk, so that a list begun before a restart, or at another
 * process that shares the directory, can be continued.
 */
export async function openSealKey(dir: string): Promise<Uint8Array> {
  await ensurePrivateDirectory(dir);
  const path = join(dir, 'seal.key');
  const key = await ensureSecretFile(path, () => randomBytes(SEAL_KEY_BYTES));
  if (key.length !== SEAL_KEY_BYTES) {
    throw new UnsafeFile(`${path} must hold exactly ${SEAL_KEY_BYTES} bytes. Remove it, and a new one is made.`);
  }
  return key;
}
