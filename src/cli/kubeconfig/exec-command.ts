import { access, constants, realpath } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { programFile } from '../../lib/program-files.ts';
import type { Context } from '../command.ts';

/** The names of the launchers. krew installs only the second. */
const NAMES = ['clusterpass', 'kubectl-clusterpass'];

/**
 * The command for kubectl's exec plugin: a name if the PATH leads to this program, else the absolute path of its
 * launcher. An upgrade may move the program, so a name comes first.
 */
export async function execCommand({ env }: Pick<Context, 'env'>, launchers?: readonly string[]): Promise<string> {
  const own = launchers ?? (await launchersOf(programFile('.'), process.execPath));
  const paths = await Promise.all(own.map(executable));
  for (const name of NAMES) {
    const found = await firstOnPath(env.PATH ?? '', name);
    // On Windows, npm installs scripts instead of links, so they cannot be compared.
    if (found !== undefined && (process.platform === 'win32' || paths.includes(found))) return name;
  }
  return own[0] ?? '';
}

/**
 * The launchers of the program in this folder. In an archive with Node they are shell scripts, because the machine may
 * have no Node that `#!/usr/bin/env node` would find; see scripts/artifacts/standalone.mjs.
 */
export async function launchersOf(program: string, node: string): Promise<readonly string[]> {
  const isArchive = (await executable(join(program, '../node'))) === (await realpath(node));
  return NAMES.map((name) => join(program, isArchive ? `../../bin/${name}` : `bin/${name}.mjs`));
}

/** kubectl runs the first match, too. */
async function firstOnPath(path: string, name: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter)) {
    const found = isPermanent(folder) ? await executable(join(folder, name)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
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
