import { access, constants, realpath } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context } from '../command.ts';

const NAME = 'clusterpass';
const LAUNCHER = fileURLToPath(new URL('../../../bin/clusterpass.mjs', import.meta.url));

/**
 * What kubectl has to run, from wherever it is started: the plain name where that is this very program, otherwise
 * where its launcher lies.
 */
export async function execCommand({ env }: Pick<Context, 'env'>, launcher = LAUNCHER): Promise<string> {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    if (!lasts(folder)) continue;
    const found = await executable(join(folder, NAME));
    if (found === undefined) continue;
    // The first one is the one that kubectl would run. On Windows no command is a link to its program.
    return process.platform === 'win32' || found === (await realpath(launcher)) ? NAME : launcher;
  }
  return launcher;
}

/** Whether kubectl will see this folder, too: npx and npm put theirs on the PATH for one run only. */
const lasts = (folder: string): boolean => isAbsolute(folder) && !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder);

/** The file itself, behind all links. */
async function executable(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    return await realpath(path);
  } catch {
    return undefined;
  }
}
