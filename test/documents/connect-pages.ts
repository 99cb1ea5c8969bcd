import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMANDS } from '../../src/cli/command-table/commands.ts';
import { flagsOf } from '../../src/cli/command-table/flags.ts';
import { flagOf, OPTION_NAMES } from '../../src/config/options.ts';

const FOLDER = join(import.meta.dirname, '../../docs/connect');

export interface Block {
  readonly page: string;
  readonly language: string;
  readonly text: string;
  /** The name in the first line, `# keycloak.yaml`, or behind the language; undefined for commands. */
  readonly file: string | undefined;
}

/** All code blocks of docs/connect/, in order. */
export const BLOCKS: readonly Block[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.md'))
  .flatMap((page) =>
    [...readFileSync(join(FOLDER, page), 'utf8').matchAll(/^( *)```(\w*) ?(\S*)\n(.*?)^\1```$/gms)].map(
      ([, indent = '', language = '', name = '', body = '']): Block => {
        const text = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
        return { page, language, text, file: name === '' ? /^# (\S+\.\w+)\n/.exec(text)?.[1] : name };
      },
    ),
  );

/** The text of a file on a page. */
export function fileOf(name: string): string {
  const found = BLOCKS.filter(({ file }) => file === name);
  if (found.length !== 1) throw new Error(`${name} is ${found.length} times in docs/connect/`);
  return found[0]?.text ?? '';
}

/** The commands of a shell script, one a line: without continued lines, comments and what a pipe connects. */
export const commandsIn = (script: string): string[] =>
  script
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .flatMap((line) => line.split(/ (?:\||&&|>) /))
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

/** Why a `clusterpass` command line cannot be right, or undefined. Values are not checked. */
export function misuseOf(args: readonly string[]): string | undefined {
  const known = args[0] === 'serve' ? OPTION_NAMES.map(flagOf) : flagsIn(args);
  if (known === undefined) return `no such command: ${args.join(' ')}`;
  const unknown = args.filter((arg) => /^--?[a-z]/.test(arg)).map((arg) => arg.split('=', 1)[0] ?? '');
  return unknown.filter((flag) => !known.includes(flag)).map((flag) => `no such flag: ${flag}`)[0];
}

function flagsIn(args: readonly string[]): readonly string[] | undefined {
  const command = COMMANDS.find(({ path }) => path.every((word, at) => args[at] === word));
  if (command === undefined) return undefined;
  return flagsOf(command).flatMap(({ flags }) => flags.split(' <', 1)[0]?.split(', ') ?? []);
}
