import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AUTHENTICATED, type Caller, MASTERS, type User } from '../api/caller.ts';
import { type FollowParts, followFiles } from '../lib/follow-files.ts';
import { ensureSecretFile, readSecretFile, replaceSecretFile, UnreadableFile, UnsafeFile } from '../lib/secret-file.ts';
import { Secret } from '../observability/secret.ts';
import { plainCaller, type TokenAuthenticator } from './token-authenticator.ts';

const TOKEN_BYTES = 32;

/** Visible ASCII without spaces: a header carries nothing else unchanged. */
const USABLE = /^[\x21-\x7e]{16,}$/;

/** Without a newline: programs that read the file may send it, and print the token in the error. */
const makeToken = (): Buffer => Buffer.from(randomBytes(TOKEN_BYTES).toString('base64url'));

/** The token in the file (mode 0600). A missing file is created with a random token. */
export async function ensureTokenFile(path: string): Promise<Secret> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  return tokenIn(path, await ensureSecretFile(path, makeToken));
}

function tokenIn(path: string, content: Buffer): Secret {
  const token = content.toString('utf8').replace(/\r?\n$/, '');
  if (!USABLE.test(token)) {
    throw new UnsafeFile(
      `${path} must hold one token of at least 16 visible ASCII characters. Remove it, and the next start makes a new one`,
    );
  }
  return new Secret(token);
}

/** One token that always authenticates the same user. */
export interface FixedTokenAuthenticator extends TokenAuthenticator {
  /** Reads the file if it has changed. */
  refresh(): Promise<void>;
  close(): void;
}

/**
 * A missing file is created with a random token. A changed file replaces the token; a file without a valid token
 * revokes it.
 */
export async function openFixedTokenAuthenticator(
  file: string,
  user: User,
  parts: FollowParts,
  { isShared = false }: { readonly isShared?: boolean } = {},
): Promise<FixedTokenAuthenticator> {
  await ensureTokenFile(file);
  const read = async (): Promise<Known | undefined> => {
    const content = await readSecretFile(file).catch((error: unknown) => {
      if (error instanceof UnreadableFile) return undefined;
      throw error;
    });
    return content && knownAs(tokenIn(file, content).digest());
  };
  const followed = await followFiles<Known>({
    ...parts,
    what: `token file of ${user.name}, ${file}`,
    files: [file],
    read,
    // Without a grace period: removing or emptying the file withdraws the token.
    whenGone: { value: NONE, graceMs: 0 },
  });
  function knownAs(digest: string): Known {
    const caller = plainCaller(user, () => followed.current().digest === digest);
    return { digest, caller: isShared ? { ...caller, isShared } : caller };
  }
  return {
    authenticateToken: (candidate) => {
      const { digest, caller } = followed.current();
      return candidate.digest() === digest ? caller : undefined;
    },
    refresh: followed.refresh,
    close: followed.close,
  };
}

interface Known {
  readonly digest: string | undefined;
  readonly caller: Caller | undefined;
}

const NONE: Known = { digest: undefined, caller: undefined };

export const ADMIN_TOKEN_FILE = 'admin.token';

const adminTokenFile = (dataDir: string): string => join(dataDir, ADMIN_TOKEN_FILE);

const ADMIN: User = { name: 'admin', uid: '', groups: [MASTERS, AUTHENTICATED], extra: {} };

/** The initial admin credential. Read access to the data directory already implies full control. */
export const openAdminToken = (dataDir: string, parts: FollowParts): Promise<FixedTokenAuthenticator> =>
  openFixedTokenAuthenticator(adminTokenFile(dataDir), ADMIN, parts, { isShared: true });

/**
 * Replaces the admin token; a running server takes it up. Returns the path of its file. Fails if there is none: in
 * another directory than the server's a new token would not withdraw the old one.
 */
export async function rotateAdminToken(dataDir: string): Promise<string> {
  const file = adminTokenFile(dataDir);
  await replaceSecretFile(file, makeToken());
  return file;
}
