import { join } from 'node:path';
import { AUTHENTICATED, MASTERS, type User } from '../api/caller.ts';
import { ensureTokenFile, fixedToken } from './generated-tokens.ts';
import type { TokenSource } from './token-authenticator.ts';

export const ADMIN_TOKEN_FILE = 'admin.token';

const ADMIN: User = { name: 'admin', uid: '', groups: [MASTERS, AUTHENTICATED], extra: {} };

/** The way in before anybody has been given rights: who can read the data directory owns the service anyway. */
export async function openAdminToken(dataDir: string): Promise<TokenSource> {
  return fixedToken(await ensureTokenFile(join(dataDir, ADMIN_TOKEN_FILE)), ADMIN);
}
