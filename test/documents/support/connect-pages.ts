import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMANDS } from '../../../src/cli/command-table/commands.ts';
import { flagsOf } from '../../../src/cli/command-table/flags.ts';
import { flagOf, OPTION_NAMES } from '../../../src/config/options.ts';
import { type Block, blocksOf, PAGES, ROOT } from './blocks.ts';

/** All blocks of docs/connect/, in order. */
export const BLOCKS: readonly Block[] = PAGES.filter((page) => page.startsWith('docs/connect/')).flatMap(blocksOf);

/** The text of a file on a page, or of a file below deploy/. */
export function fileOf(name: string): string {
  if (name.startsWith('deploy/')) return readFileSync(join(ROOT, name), 'utf8');
  const found = BLOCKS.filter(({ file }) => file === name);
  if (found.length !== 1) throw new Error(`${name} is ${found.length} times in docs/connect/`);
  return found[0]?.text ?? '';
}

/** Why a `clusterpass` command line cannot be right, or undefined. Values are not checked. */
export function misuseOf(args: readonly string[]): string | undefined {
  const known = args[0] === 'serve' ? OPTION_NAMES.map(flagOf) : flagsIn(args);
  if (known === undefined) return `no such command: ${args.join(' ')}`;
  if (args[0] === 'kubectl') return undefined;
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  const unknown = own.filter((arg) => /^--?[a-z]/.test(arg)).map((arg) => arg.split('=', 1)[0] ?? '');
  return unknown.filter((flag) => !known.includes(flag)).map((flag) => `no such flag: ${flag}`)[0];
}

function flagsIn(args: readonly string[]): readonly string[] | undefined {
  const command = COMMANDS.find(({ path }) => path.every((word, at) => args[at] === word));
  if (command === undefined) return undefined;
  return flagsOf(command).flatMap(({ flags }) => flags.split(' <', 1)[0]?.split(', ') ?? []);
}
