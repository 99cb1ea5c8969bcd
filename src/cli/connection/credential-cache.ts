import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { IssuedToken } from '../../client/types.ts';
import { CliError, type Context } from '../command.ts';
import { withLock } from '../files/file-lock.ts';
import { readPrivate, writePrivate } from '../files/files.ts';
import { cacheFolder } from '../files/folders.ts';

/** A token that `clusterpass credential` has cached for the next kubectl. */
export interface CachedCredential {
  readonly token: string;
  /** When a new token is requested. By the clock of this machine, epoch milliseconds. */
  readonly refreshAt: number;
}

/** How long before its expiry a token is replaced: requests take time, and clocks differ. */
const MAX_MARGIN_MS = 60_000;
const MARGIN_SHARE = 0.1;
const LOCK_WAIT_MS = 45_000;

const digest = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40);

const folderOf = ({ env }: Context, server: string): string => join(cacheFolder(env), 'credentials', digest(server));

/**
 * A credential from the cache, or a new one that is then cached. `identity` is everything that distinguishes two
 * credentials, including the session or the token of the caller, so that no login gets the credential of another.
 */
export async function cachedCredential(
  context: Context,
  server: string,
  identity: readonly unknown[],
  issue: () => Promise<IssuedToken>,
): Promise<CachedCredential> {
  const file = join(folderOf(context, server), `${digest(...identity)}.json`);
  const fresh = async (): Promise<CachedCredential | undefined> => {
    const found = await readCredential(file);
    return found !== undefined && context.now() < found.refreshAt ? found : undefined;
  };
  let found = await fresh();
  if (found !== undefined) return found;
  // A process that waits for the lock uses the credential that the holder of the lock requests.
  const options = {
    waitMs: LOCK_WAIT_MS,
    err: context.err,
    done: async () => {
      found = await fresh();
      return found !== undefined;
    },
  };
  const issued = await withLock(file, options, async () => {
    const already = await fresh();
    if (already !== undefined) return already;
    const credential = fromIssued(await issue(), context.now());
    await writePrivate(file, JSON.stringify(credential));
    return credential;
  });
  const credential = issued ?? found;
  if (credential === undefined) throw new CliError('cannot use the credential cache; try --no-cache');
  return credential;
}

export function fromIssued({ token, expirationTimestamp, issuedAt }: IssuedToken, now: number): CachedCredential {
  const lifetime = Date.parse(expirationTimestamp) - issuedAt;
  return { token, refreshAt: Math.floor(now + lifetime - Math.min(MAX_MARGIN_MS, lifetime * MARGIN_SHARE)) };
}

/** A malformed file counts as missing. */
async function readCredential(file: string): Promise<CachedCredential | undefined> {
  const text = await readPrivate(file);
  if (text === undefined) return undefined;
  try {
    const { token, refreshAt } = JSON.parse(text) as Partial<CachedCredential>;
    return typeof token === 'string' && typeof refreshAt === 'number' ? { token, refreshAt } : undefined;
  } catch {
    return undefined;
  }
}

export async function deleteCredentials(context: Context, server: string): Promise<void> {
  await rm(folderOf(context, server), { recursive: true, force: true });
}
