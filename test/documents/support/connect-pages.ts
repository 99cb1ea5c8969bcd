import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { specOf } from '../../../src/cli/command-line.ts';
import { commandAt, findCommand, GROUPS } from '../../../src/cli/command-table/commands.ts';
import { flagsOf } from '../../../src/cli/command-table/flags.ts';
import { optionFlags } from '../../../src/cli/option-flags.ts';
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
  const { words, rest } = findCommand(args);
  const command = commandAt(words);
  if (command === undefined)
    return args.length === 1 && words.join() in GROUPS ? undefined : `no such command: ${args.join(' ')}`;
  if (command.passesArguments === true) return undefined;
  const known = [...flagsOf(command), ...optionFlags(command)].map(specOf);
  const own = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest;
  const given = own.filter((arg) => /^--?[a-z]/.test(arg)).map((arg) => arg.split('=', 1)[0] ?? '');
  const unknown = given.find((flag) => !known.some(({ long, short }) => flag === long || flag === short));
  return unknown && `no such flag: ${unknown}`;
}
