import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { IssuedToken } from '../../client/types.ts';
import { CliError, type Context } from '../command.ts';
import { withLock } from '../files/file-lock.ts';
import { readPrivate, writePrivate } from '../files/files.ts';
import { cacheFolder } from '../files/folders.ts';

/** A token that waits for the next kubectl. */
export interface Credential {
  readonly token: string;
  /** By the clock of this machine, epoch milliseconds: from then on a new token is asked for. */
  readonly refreshAt: number;
}

/** Of what is left at this point, something is lost: requests on their way, clocks that differ a little. */
const LONGEST_MARGIN_MS = 60_000;
const MARGIN_SHARE = 0.1;
const LOCK_WAIT_MS = 45_000;

const digest = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40);

const folderOf = ({ env }: Context, server: string): string => join(cacheFolder(env), 'credentials', digest(server));

/**
 * A credential from the cache, or a new one, which is then in the cache. `identity` is everything that makes one
 * credential differ from another, the caller's own token included: nobody is served what another login fetched.
 */
export async function cachedCredential(
  context: Context,
  server: string,
  identity: readonly unknown[],
  issue: () => Promise<IssuedToken>,
): Promise<Credential> {
  const file = join(folderOf(context, server), `${digest(...identity)}.json`);
  const fresh = async (): Promise<Credential | undefined> => {
    const found = await readCredential(file);
    return found !== undefined && context.now() < found.refreshAt ? found : undefined;
  };
  let found = await fresh();
  if (found !== undefined) return found;
  // Whoever waits here waits for what another process is fetching, and takes that.
  const options = {
    waitMs: LOCK_WAIT_MS,
    err: context.err,
    done: async () => {
      found = await fresh();
      return found !== undefined;
    },
  };
  const made = await withLock(file, options, async () => {
    const already = await fresh();
    if (already !== undefined) return already;
    const issued = fromIssued(await issue(), context.now());
    await writePrivate(file, JSON.stringify(issued));
    return issued;
  });
  const credential = made ?? found;
  if (credential === undefined) throw new CliError('the credential cache cannot be used; try --no-cache');
  return credential;
}

export function fromIssued({ token, expirationTimestamp, issuedAt }: IssuedToken, now: number): Credential {
  const lifetime = Date.parse(expirationTimestamp) - issuedAt;
  return { token, refreshAt: Math.floor(now + lifetime - Math.min(LONGEST_MARGIN_MS, lifetime * MARGIN_SHARE)) };
}

/** What cannot be understood is as good as nothing. */
async function readCredential(file: string): Promise<Credential | undefined> {
  const text = await readPrivate(file);
  if (text === undefined) return undefined;
  try {
    const { token, refreshAt } = JSON.parse(text) as Partial<Credential>;
    return typeof token === 'string' && typeof refreshAt === 'number' ? { token, refreshAt } : undefined;
  } catch {
    return undefined;
  }
}

export async function forgetCredentials(context: Context, server: string): Promise<void> {
  await rm(folderOf(context, server), { recursive: true, force: true });
}
