import { mkdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/**
 * Enables Node's compile cache, with which a command starts in a fifth of the time: a credential plugin starts with
 * every kubectl. Not in Node's default folder, which all users of the machine share: a user who can write to it could
 * have code run as another.
 */
export function enableCompileCache(env = process.env) {
  try {
    const base = env.XDG_CACHE_HOME;
    const folder = join(
      base !== undefined && isAbsolute(base) ? base : join(homedir(), '.cache'),
      'clusterpass/compiled',
    );
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    if (process.geteuid === undefined || uid !== process.geteuid() || (mode & 0o022) !== 0) return;
    module.enableCompileCache?.(folder);
  } catch {
    // No home, or no permission to write to it: the program starts without a cache.
  }
}
