import { join } from 'node:path';
import { isClusterType } from '../clusters.ts';
import { CliError, type Context } from '../command.ts';
import { configFolder, readPrivate, writePrivate } from '../files/files.ts';
import type { Session } from '../oidc/oidc-session.ts';

/** A stored login at one server. */
export interface Login {
  readonly token: string;
  /** The user's name for the server, of `clusterpass login --name`. */
  readonly name?: string;
  /** How the token is refreshed, if it is from an identity provider. */
  readonly session?: Session;
  /** PEM */
  readonly certificateAuthority?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly productName?: string;
}

export interface Logins {
  /** The server of commands that name none: that of the last login or `servers use`, or the only one. */
  readonly current?: string;
  /** By server: a token is only sent to the server that it was stored for. */
  readonly logins: Readonly<Record<string, Login>>;
}

const NO_LOGINS: Logins = { logins: {} };

const loginsFile = (env: Context['env']): string => join(configFolder(env), 'logins.json');

export async function readLogins({ env }: Context): Promise<Logins> {
  const file = loginsFile(env);
  const text = await readPrivate(file);
  if (text === undefined) return NO_LOGINS;
  try {
    const found = JSON.parse(text) as Partial<Logins>;
    if (typeof found.logins !== 'object' || found.logins === null) throw new Error('no logins');
    const [only, ...others] = Object.keys(found.logins);
    const current = found.current ?? (others.length === 0 ? only : undefined);
    return { ...(current === undefined ? {} : { current }), logins: found.logins };
  } catch {
    throw new CliError(`${file} is not a file of clusterpass login; remove it and log in again`);
  }
}

export const loginFor = ({ logins }: Logins, server: string): Login | undefined =>
  Object.hasOwn(logins, server) ? logins[server] : undefined;

/** Changes the file under its lock, so that concurrent changes are not lost. */
export async function changeLogins(context: Context, change: (logins: Logins) => Logins): Promise<void> {
  const file = loginsFile(context.env);
  const { withLock } = await import('../files/file-lock.ts');
  await withLock(file, { err: context.err }, async () => {
    const changed = change(await readLogins(context));
    await writePrivate(file, `${JSON.stringify(changed, null, 2)}\n`);
  });
}

/**
 * The name of each server that has a login, by its address: the name that the user gave it, else its host and path. Two
 * servers with the same host and path have their addresses as names.
 */
export function serverNames({ logins }: Logins): ReadonlyMap<string, string> {
  const names = Object.entries(logins).map(([server, { name }]) => ({ server, name: name ?? withoutScheme(server) }));
  const isShared = (name: string): boolean => names.filter((other) => other.name === name).length > 1;
  return new Map(names.map(({ server, name }) => [server, isShared(name) ? server : name]));
}

const withoutScheme = (server: string): string => server.replace(/^https?:\/\//, '');

/** Checks a name that the user gives to a server: it is written before the name of a cluster, as in `eu/prod-1`. */
export function checkedName(name: string, server: string, logins: Logins): string {
  if (!/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/.test(name) || isClusterType(name)) {
    throw new CliError(`--name: ${JSON.stringify(name)} is not a name of lower case letters, digits, "-" and "."`);
  }
  const [other] = [...serverNames(logins)].find(([address, known]) => address !== server && known === name) ?? [];
  if (other !== undefined) throw new CliError(`--name: ${JSON.stringify(name)} is the name of ${other}`);
  return name;
}
