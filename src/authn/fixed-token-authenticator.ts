import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AUTHENTICATED, MASTERS, type User } from '../api/caller.ts';
import { ensureSecretFile, UnsafeFile } from '../lib/secret-file.ts';
import { Secret } from '../observability/secret.ts';
import { plainCaller } from './plain-caller.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

const TOKEN_BYTES = 32;

/** Visible ASCII without spaces: a header carries nothing else unchanged. */
const USABLE = /^[\x21-\x7e]{16,}$/;

/** The token in the file (mode 0600). A missing file is created with a random token. */
export async function ensureTokenFile(path: string): Promise<Secret> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const content = await ensureSecretFile(path, () =>
    Buffer.from(`${randomBytes(TOKEN_BYTES).toString('base64url')}\n`),
  );
  const token = content.toString('utf8').replace(/\r?\n$/, '');
  if (!USABLE.test(token)) {
    throw new UnsafeFile(
      `${path} must hold one token of at least 16 visible ASCII characters. Remove it, and a new one is made.`,
    );
  }
  return new Secret(token);
}

/** One token that always authenticates the same user. */
export function createFixedTokenAuthenticator(token: Secret, user: User): TokenAuthenticator {
  const digest = token.digest();
  const caller = plainCaller(user, () => true);
  return { authenticateToken: (candidate) => (candidate.digest() === digest ? caller : undefined) };
}

export const ADMIN_TOKEN_FILE = 'admin.token';

const ADMIN: User = { name: 'admin', uid: '', groups: [MASTERS, AUTHENTICATED], extra: {} };

/** The credential before any rights are granted: an account that can read the data directory owns the server anyway. */
export async function loadAdminToken(dataDir: string): Promise<TokenAuthenticator> {
  return createFixedTokenAuthenticator(await ensureTokenFile(join(dataDir, ADMIN_TOKEN_FILE)), ADMIN);
}
