import { isClusterType } from '../clusters.ts';
import { CliError } from '../command.ts';
import type { Logins } from './logins.ts';

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
