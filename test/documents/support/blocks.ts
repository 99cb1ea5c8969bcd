import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** README.md, CONTRIBUTING.md and every page below docs/, by their paths in the project. */
export const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort(),
];

/** A fenced block of a page. */
export interface Block {
  readonly page: string;
  /** The heading above it. */
  readonly section: string;
  readonly language: string;
  /** Without the indentation of the list that it is in. */
  readonly text: string;
  /** The name in its first line, `# keycloak.yaml`, or behind the language: it is that file. Undefined for others. */
  readonly file: string | undefined;
  /** From the first line of commands that the tests do not run: `# not tested: it needs a cluster`. */
  readonly notRun: string | undefined;
}

export const readPage = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let section = '';
  const parts = readPage(page).matchAll(/^(?:#+ ([^\n]*)|( *)```(\w*) ?(\S*)\n(.*?)^\2```)$/gms);
  for (const [, heading, indent = '', language = '', name = '', body = ''] of parts) {
    if (heading !== undefined) {
      section = heading;
      continue;
    }
    const text = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    const file = name === '' ? /^# (\S+\.\w+)\n/.exec(text)?.[1] : name;
    blocks.push({ page, section, language, text, file, notRun: /^# not tested: (.+)\n/.exec(text)?.[1] });
  }
  return blocks;
}

/** Commands, not the text of a script. */
export const isCommands = ({ language, file }: Block): boolean => language === 'sh' && file === undefined;

/** Commands that the tests run. */
export const isRun = (block: Block): boolean => isCommands(block) && block.notRun === undefined;

/** Texts of blocks whose commands were run, by page. */
const executed = new Set<string>();
const keyOf = ({ page, text }: Block): string => `${page}\n${text}`;

/** Calls `run` with the commands of a block, and records that they were run. Every test runs commands through this. */
export function execute<T>(block: Block, run: (text: string) => T): T {
  executed.add(keyOf(block));
  return run(block.text);
}

export const wasExecuted = (block: Block): boolean => executed.has(keyOf(block));

/** The commands of a shell script, one a line: without continued lines, comments and what a pipe connects. */
export const commandsIn = (script: string): string[] =>
  script
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .flatMap((line) => line.split(/ (?:\||&&|>) /))
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
