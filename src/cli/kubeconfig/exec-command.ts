import { access, constants, realpath } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { programFile } from '../../lib/program-files.ts';
import type { Context } from '../command.ts';

const NAME = 'clusterpass';
const LAUNCHER = programFile('bin/clusterpass.mjs');

/**
 * The command for kubectl's exec plugin: `clusterpass` if the PATH leads to this program, else the absolute path of its
 * launcher.
 */
export async function execCommand({ env }: Pick<Context, 'env'>, launcher = LAUNCHER): Promise<string> {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    if (!isPermanent(folder)) continue;
    const found = await executable(join(folder, NAME));
    if (found === undefined) continue;
    // kubectl runs the first match, too. On Windows, npm installs scripts instead of links, so they cannot be compared.
    return process.platform === 'win32' || found === (await realpath(launcher)) ? NAME : launcher;
  }
  return launcher;
}

/** Whether kubectl has this folder on its PATH, too: npx and npm add theirs for one run only. */
const isPermanent = (folder: string): boolean =>
  isAbsolute(folder) && !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder);

/** The real path of an executable file. */
async function executable(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    return await realpath(path);
  } catch {
    return undefined;
  }
}
