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

/** The files that kubectl reads: those of $KUBECONFIG, else ~/.kube/config. */
export function kubeconfigFiles(env: Context['env']): readonly [string, ...string[]] {
  const separator = process.platform === 'win32' ? ';' : ':';
  const [first, ...others] = (env.KUBECONFIG ?? '').split(separator).filter((path) => path !== '');
  return first === undefined ? [join(home(env), '.kube', 'config')] : [first, ...others];
}

/** The file that kubectl writes new entries to. */
export const kubeconfigFile = (env: Context['env']): string => kubeconfigFiles(env)[0];
