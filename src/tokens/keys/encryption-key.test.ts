import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../tokens.fixture.ts';
import { encryptionKey, loadEncryptionKey } from './encryption-key.ts';

let dir: string;

beforeEach(() => {
  dir = temporaryDirectory();
});

const PLAIN = Buffer.from('the private key');
const NEW_STORE = { hasSigningKeys: async () => false };

describe('sealing', () => {
  const key = encryptionKey(Buffer.alloc(32, 1));

  test('a sealed value can be unsealed for the same purpose only', () => {
    const sealed = key.seal(PLAIN, 'ring');
    expect(sealed.includes(PLAIN)).toBe(false);
    expect(key.unseal(sealed, 'ring')).toEqual(PLAIN);
    expect(key.unseal(sealed, 'other')).toBeUndefined();
    expect(encryptionKey(Buffer.alloc(32, 2)).unseal(sealed, 'ring')).toBeUndefined();
  });

  test('a change of any byte is noticed, and so is an end that is missing', () => {
    const sealed = key.seal(PLAIN, 'ring');
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(key.unseal(changed, 'ring'), `byte ${at}`).toBeUndefined();
      expect(key.unseal(sealed.subarray(0, at), 'ring'), `${at} bytes`).toBeUndefined();
    }
  });

  test('keys that are derived differ by purpose and by key, and are the same every time', () => {
    const others = [encryptionKey(Buffer.alloc(32, 2)).derive('a'), key.derive('b'), Buffer.alloc(32, 1)];
    expect(key.derive('a')).toHaveLength(32);
    expect(key.derive('a')).toEqual(encryptionKey(Buffer.alloc(32, 1)).derive('a'));
    for (const other of others) expect(Buffer.compare(key.derive('a'), other)).not.toBe(0);
  });

  test('the same text is never sealed the same way twice', () => {
    expect(key.seal(PLAIN, 'ring').equals(key.seal(PLAIN, 'ring'))).toBe(false);
  });
});

describe('the file', () => {
  test('is made at the first start, for this user alone, and stays', async () => {
    const { id } = await loadEncryptionKey({ file: undefined, dir: join(dir, 'keys'), ...NEW_STORE });
    const path = join(dir, 'keys', 'encryption.key');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await readFile(path)).length).toBe(32);
    expect((await loadEncryptionKey({ file: undefined, dir: join(dir, 'keys'), ...NEW_STORE })).id).toBe(id);
    expect((await loadEncryptionKey({ file: path, dir, ...NEW_STORE })).id).toBe(id);
  });

  test('is not made for a store whose keys are encrypted with another one', async () => {
    const keys = join(dir, 'keys');
    const opened = loadEncryptionKey({ file: undefined, dir: keys, hasSigningKeys: async () => true });
    await expect(opened).rejects.toThrow(/encryption\.key does not exist.*Restore it, or .*--encryption-key-file/);
    expect(await readdir(keys)).toEqual([]);
  });

  test.each([
    ['too short', Buffer.alloc(31)],
    ['empty', Buffer.alloc(0)],
    ['base64 of 33 bytes', Buffer.from(Buffer.alloc(33).toString('base64'))],
    ['a passphrase', Buffer.from('correct horse battery staple')],
  ])('that is %s is refused, and not repeated', async (_name, content) => {
    await writeFile(join(dir, 'key'), content, { mode: 0o600 });
    const opened = loadEncryptionKey({ file: join(dir, 'key'), dir, ...NEW_STORE });
    await expect(opened).rejects.toThrow(/must hold exactly 32 random bytes.*openssl rand -base64 32/);
    await expect(opened).rejects.not.toThrow(/horse/);
  });

  test('A1: that others can read is refused, also behind a link and in the data directory', async () => {
    await mkdir(join(dir, 'keys'), { mode: 0o700 });
    const path = join(dir, 'keys', 'encryption.key');
    await writeFile(path, Buffer.alloc(32));
    await chmod(path, 0o640);
    await symlink(path, join(dir, 'link'));
    await expect(loadEncryptionKey({ file: undefined, dir: join(dir, 'keys'), ...NEW_STORE })).rejects.toThrow(
      /chmod 600/,
    );
    await expect(loadEncryptionKey({ file: join(dir, 'link'), dir, ...NEW_STORE })).rejects.toThrow(/chmod 600/);
  });
});
