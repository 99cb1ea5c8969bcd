import { createHash, createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { CliError, type Context } from '../command.ts';
import { configFolder, readPrivate, writePrivate } from '../files/files.ts';

/**
 * PKCE (RFC 7636) for passes: the request for a pass has the hash of a secret, and its redemption the secret. The
 * secret is derived from a key in the folder of logins, which no request contains.
 */

/** 256 bits in base64url. */
const KEY = /^[A-Za-z0-9_-]{43}$/;

const keyFile = ({ env }: Context): string => join(configFolder(env), 'machine.key');

/** The secret of the passes that were requested on this machine; undefined if there were none. */
export async function readCodeVerifier(context: Context, server: string): Promise<string | undefined> {
  const key = await readKey(context);
  return key === undefined ? undefined : verifierFor(key, server);
}

/** The hash of the secret. All passes of one server have the same, so that the same request gives the same pass. */
export async function codeChallengeFor(context: Context, server: string): Promise<string> {
  const key = (await readKey(context)) ?? (await createKey(context));
  return createHash('sha256').update(verifierFor(key, server)).digest('base64url');
}

/** Each server has its own: one that learns it cannot use it at another. */
const verifierFor = (key: string, server: string): string =>
  createHmac('sha256', key).update(server).digest('base64url');

async function readKey(context: Context): Promise<string | undefined> {
  const file = keyFile(context);
  const key = (await readPrivate(file))?.trim();
  if (key === undefined || KEY.test(key)) return key;
  throw new CliError(`${file} is not a key that clusterpass made; remove it and request another pass`);
}

/** Under a lock: two processes must not make two keys. */
async function createKey(context: Context): Promise<string> {
  const file = keyFile(context);
  const { withLock } = await import('../files/file-lock.ts');
  return withLock(file, { err: context.err, read: () => readKey(context) }, async () => {
    const key = randomBytes(32).toString('base64url');
    await writePrivate(file, `${key}\n`);
    return key;
  });
}
