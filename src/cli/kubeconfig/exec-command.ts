import { access, constants, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { programFile } from '../../lib/program-files.ts';
import type { Context } from '../command.ts';
import { readText } from '../files/files.ts';

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
 * have no Node that `#!/usr/bin/env node` would find; see scripts/artifacts/standalone.ts.
 */
export async function launchersOf(program: string, node: string): Promise<readonly string[]> {
  const isArchive = (await executable(join(program, '../node'))) === (await realpath(node));
  return NAMES.map((name) => join(program, isArchive ? `../../bin/${name}` : `bin/${name}.mjs`));
}

/** kubectl runs the first match, too. */
async function firstOnPath(path: string, name: string): Promise<string | undefined> {
  const place = await placeOnPath(path, name);
  return place && executable(place);
}

/** Whether kubectl has this folder on its PATH, too: npx and npm add theirs for one run only. */
const isPermanent = (folder: string): boolean =>
  isAbsolute(folder) && !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder);

/**
 * The entry for an allow-list of kubectl (`credentialPluginPolicy` in kuberc) that does not name the plugin; undefined
 * if there is none. kubectl compares the path at which it finds the command.
 */
async function allowListEntry({ env }: Pick<Context, 'env'>, command: string): Promise<string | undefined> {
  const text = await readText(env.KUBERC || join(env.HOME || homedir(), '.kube/kuberc')).catch(() => undefined);
  if (text === undefined || !/^credentialPluginPolicy:\s*["']?Allowlist\b/m.test(text)) return undefined;
  const path = isAbsolute(command) ? command : await placeOnPath(env.PATH ?? '', command);
  return path === undefined || text.includes(path) ? undefined : `- command: ${path}`;
}

async function placeOnPath(path: string, name: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter)) {
    if (isPermanent(folder) && (await executable(join(folder, name))) !== undefined) return join(folder, name);
  }
  return undefined;
}

/** Says how an allow-list of kubectl gets the plugin that a kubeconfig names. */
export async function sayAllowListEntry(context: Pick<Context, 'env' | 'err'>): Promise<void> {
  const entry = await allowListEntry(context, await execCommand(context));
  if (entry === undefined) return;
  context.err.write(
    `kubectl runs only the plugins that its kuberc allows: add to credentialPluginAllowlist\n\n${entry}\n\n`,
  );
}

/** The real path of an executable file. */
async function executable(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    return await realpath(path);
  } catch {
    return undefined;
  }
}
