import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Context } from '../command.ts';

const home = (env: Context['env']): string => env.HOME || homedir();

/** The XDG base directory specification: a path that is not absolute is to be ignored. */
function base(env: Context['env'], variable: string, fallback: string): string {
  const given = env[variable];
  return given !== undefined && isAbsolute(given) ? given : join(home(env), fallback);
}

/** Where logins are kept. */
export const configFolder = (env: Context['env']): string =>
  join(base(env, 'XDG_CONFIG_HOME', '.config'), 'clusterpass');

/** Where tokens wait for the next kubectl. */
export const cacheFolder = (env: Context['env']): string => join(base(env, 'XDG_CACHE_HOME', '.cache'), 'clusterpass');

/** The file that kubectl writes: the first of $KUBECONFIG, else the one at home. */
export function kubeconfigFile(env: Context['env']): string {
  const first = (env.KUBECONFIG ?? '').split(process.platform === 'win32' ? ';' : ':').find((path) => path !== '');
  return first ?? join(home(env), '.kube', 'config');
}
