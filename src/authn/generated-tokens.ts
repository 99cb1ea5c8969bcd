import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { User } from '../api/caller.ts';
import { ensureSecretFile, UnsafeFile } from '../lib/secret-file.ts';
import { Secret } from '../observability/secret.ts';
import { plainCaller } from './plain-caller.ts';
import type { TokenSource } from './token-authenticator.ts';

const TOKEN_BYTES = 32;

/** Visible ASCII without spaces: anything else can not be sent in a header as it stands. */
const USABLE = /^[\x21-\x7e]{16,}$/;

/** The token in the file (mode 0600), made at random when there is none yet. */
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

/** One token that is always the same user. */
export function fixedToken(token: Secret, user: User): TokenSource {
  const digest = token.digest();
  const caller = plainCaller(user, () => true);
  return { find: (candidate) => (candidate.digest() === digest ? caller : undefined) };
}
