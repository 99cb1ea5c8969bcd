import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Context } from '../command.ts';

const home = (env: Context['env']): string => env.HOME || homedir();

/** XDG Base Directory Specification: a relative path is ignored. */
function base(env: Context['env'], variable: string, fallback: string): string {
  const given = env[variable];
  return given !== undefined && isAbsolute(given) ? given : join(home(env), fallback);
}

/** The folder of logins. */
export const configFolder = (env: Context['env']): string =>
  join(base(env, 'XDG_CONFIG_HOME', '.config'), 'clusterpass');

/** The folder of cached tokens. */
export const cacheFolder = (env: Context['env']): string => join(base(env, 'XDG_CACHE_HOME', '.cache'), 'clusterpass');

/** The kubeconfig that kubectl writes: the first file of $KUBECONFIG, else ~/.kube/config. */
export function kubeconfigFile(env: Context['env']): string {
  const first = (env.KUBECONFIG ?? '').split(process.platform === 'win32' ? ';' : ':').find((path) => path !== '');
  return first ?? join(home(env), '.kube', 'config');
}
