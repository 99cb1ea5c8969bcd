import { promises as fs } from 'node:fs';
import { dirname, join } from 'node:path';
import { isStatus } from '../../client/errors.ts';
import { refreshTime } from '../../client/token-source.ts';
import type { IssuedToken } from '../../client/types.ts';
import { sha256 } from '../../lib/sha256.ts';
import type { Context } from '../command.ts';
import { cacheFolder, readPrivate, writePrivate } from '../files/files.ts';

export type Verdict = 'accepted' | 'refused' | 'unknown';

/** A token that `clusterpass credential` has cached for the next kubectl. */
export interface CachedCredential {
  readonly token: string;
  /** When a new token is requested. By the clock of this machine, epoch milliseconds; `checkedAt` too. */
  readonly refreshAt: number;
  /** When the token was issued, or last known to be accepted. */
  readonly checkedAt: number;
}

/** Where credentials come from. */
export interface CredentialSource {
  issue(): Promise<IssuedToken>;
  /** `unknown` when there is no answer. Never throws. */
  check(token: string): Promise<Verdict>;
}

/** A token that is older is checked before it is used: its key, its account or itself may have been revoked. */
const CHECK_MS = 60_000;

const digest = (...parts: readonly unknown[]): string => sha256(JSON.stringify(parts)).slice(0, 40);

const folderOf = ({ env }: Context, server: string): string => join(cacheFolder(env), 'credentials', digest(server));

/** What the files of a pass begin with. */
const prefixOf = (handle: string): string => `${digest(handle)}-`;

/**
 * The file of a credential. `identity` is everything that distinguishes two credentials, including the session or the
 * token of the caller, so that no login gets the credential of another. `handle` is that of a pass:
 * `deletePassCredentials` finds the file by it.
 */
export function credentialFile(
  context: Context,
  server: string,
  identity: readonly unknown[],
  handle?: string | undefined,
): string {
  const prefix = handle === undefined ? '' : prefixOf(handle);
  return join(folderOf(context, server), `${prefix}${digest(...identity)}.json`);
}

/**
 * A credential from the cache, or a new one that is then cached. A credential that is older than a minute is checked,
 * and replaced if it is refused. If there is no answer, it is used.
 */
export async function cachedCredential(
  context: Context,
  file: string,
  source: CredentialSource,
): Promise<CachedCredential> {
  const fresh = async (): Promise<CachedCredential | undefined> => {
    const found = await readCredential(file);
    return found !== undefined && context.now() < found.refreshAt ? found : undefined;
  };
  const renewed = (old: CachedCredential | undefined): Promise<CachedCredential> =>
    renew(context, old, source).catch(async (error: unknown) => {
      // The caller is refused, so a credential that was issued to it must not be used either.
      if (isStatus(error, 401)) await deleteCredential(file);
      throw error;
    });
  const usable = async (): Promise<CachedCredential | undefined> => {
    const found = await fresh();
    return found === undefined || isDue(context, found) ? undefined : found;
  };
  const found = await usable();
  if (found !== undefined) return found;
  // As in a container with a read-only home directory: without a cache, each kubectl gets its own token.
  if (!(await isWritable(dirname(file)))) return renewed(await fresh());
  // Imported here: a usable credential needs no lock.
  const { withLock } = await import('../files/file-lock.ts');
  return withLock(file, { err: context.err, read: usable }, async () => {
    const credential = await renewed(await fresh());
    await writePrivate(file, JSON.stringify(credential));
    return credential;
  });
}

const isWritable = async (folder: string): Promise<boolean> => {
  try {
    await fs.mkdir(folder, { recursive: true, mode: 0o700 });
    await fs.access(folder, fs.constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

const isDue = (context: Context, { checkedAt }: CachedCredential): boolean =>
  Math.abs(context.now() - checkedAt) >= CHECK_MS;

/** The old credential if it is still accepted, or else a new one. */
async function renew(
  context: Context,
  old: CachedCredential | undefined,
  source: CredentialSource,
): Promise<CachedCredential> {
  const verdict = old === undefined ? 'refused' : await source.check(old.token);
  if (old !== undefined && verdict !== 'refused') return { ...old, checkedAt: context.now() };
  const issued = await source.issue();
  const now = context.now();
  return { token: issued.token, refreshAt: refreshTime(issued, now), checkedAt: now };
}

/** A malformed file counts as missing. The token of one without `checkedAt` is checked at its first use. */
async function readCredential(file: string): Promise<CachedCredential | undefined> {
  const text = await readPrivate(file);
  if (text === undefined) return undefined;
  try {
    const { token, refreshAt, checkedAt } = JSON.parse(text) as Partial<CachedCredential>;
    if (typeof token !== 'string' || typeof refreshAt !== 'number') return undefined;
    return { token, refreshAt, checkedAt: typeof checkedAt === 'number' ? checkedAt : 0 };
  } catch {
    return undefined;
  }
}

/** A cache that cannot be written does not matter. */
export const deleteCredential = (file: string): Promise<void> => fs.rm(file, { force: true }).catch(() => undefined);

export async function deleteCredentials(context: Context, server: string): Promise<void> {
  await fs.rm(folderOf(context, server), { recursive: true, force: true });
}

/** The credentials of one pass, for every login that redeemed it. */
export async function deletePassCredentials(context: Context, server: string, handle: string): Promise<void> {
  const folder = folderOf(context, server);
  const names = await fs.readdir(folder).catch(() => []);
  const own = names.filter((name) => name.startsWith(prefixOf(handle)) && name.endsWith('.json'));
  await Promise.all(own.map((name) => fs.rm(join(folder, name), { force: true })));
}
