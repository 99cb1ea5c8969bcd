import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type CliResult, type CommandInput, runCommand } from '../../e2e/support/run-command.ts';

/** Not commands of the client, or those that need a process: they wait for signals, or write how they are started. */
const NEEDS_PROCESS = /^(?:serve|store|admin-token|mcp|mirror|sync|kubeconfig|kubectl|exec|credential)$/;

/** A command of the client that a shell would only split into words. */
export interface ClientCommand {
  readonly args: readonly string[];
  /** Behind `>`. */
  readonly to?: string;
  /** Behind `<`. */
  readonly from?: string;
}

/** Undefined for a line that needs a shell or a process. */
export function clientCommand(line: string): ClientCommand | undefined {
  const words: string[] = [];
  let rest = line.trim();
  while (rest !== '') {
    // Characters without a meaning for the shell, and texts in single quotes.
    const [text = ''] = /^(?:[\w@%+=:,./-]+|'[^']*')+|^[<>](?= \S)/.exec(rest) ?? [];
    if (text === '' || !/^(?:\s|$)/.test(rest.slice(text.length))) return undefined;
    words.push(text);
    rest = rest.slice(text.length).trimStart();
  }
  const [program, ...others] = words;
  if (program !== 'clusterpass' || NEEDS_PROCESS.test(others[0] ?? '')) return undefined;
  const at = others.findIndex((word) => word === '<' || word === '>');
  if (at >= 0 && at !== others.length - 2) return undefined;
  const plain = (word: string): string => word.replaceAll("'", '');
  const args = (at < 0 ? others : others.slice(0, at)).map(plain);
  if (at < 0) return { args };
  return { args, [others[at] === '>' ? 'to' : 'from']: plain(others.at(-1) ?? '') };
}

/** Runs the command in this process, with the environment and the working directory of a shell. */
export async function runClientCommand(
  { args, to, from }: ClientCommand,
  { env, cwd }: Pick<CommandInput, 'env' | 'cwd'>,
): Promise<CliResult> {
  const stdin = from === undefined ? '' : readFileSync(resolve(cwd, from), 'utf8');
  const ended = await runCommand(args, { env, cwd, stdin });
  if (to === undefined) return ended;
  writeFileSync(resolve(cwd, to), ended.stdout);
  return { ...ended, stdout: '' };
}
