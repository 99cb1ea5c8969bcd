import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context } from './command.ts';

const NAME = 'clusterpass';

/** What kubectl has to run: the plain name where it is found by that, otherwise where this program lies. */
export async function execCommand({ env }: Context): Promise<string> {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    if (folder !== '' && (await isExecutable(join(folder, NAME)))) return NAME;
  }
  return fileURLToPath(new URL('../../bin/clusterpass.mjs', import.meta.url));
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
