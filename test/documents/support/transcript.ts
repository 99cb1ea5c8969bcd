import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { clientCommand, runClientCommand } from './client-commands.ts';

/**
 * A transcript is a text of commands and their answers. `carl$ command` is run with the login of carl; lines that begin
 * with `> ` continue it. What differs in each run has a name in both: `<token-1>`, `<handle-1>`, `<time>`.
 */

interface Step {
  readonly who: string;
  readonly command: string;
  /** The lines of the transcript until the answer. */
  readonly prompt: readonly string[];
}

/** Comments and blank lines between the steps stay as they are. */
type Part = Step | string;

const PROMPT = /^(\w+)\$ (.*)$/;

export function parseTranscript(text: string): { parts: Part[]; answers: Map<Part, string> } {
  const parts: Part[] = [];
  const answers = new Map<Part, string>();
  const lines = text.trimEnd().split('\n');
  for (let at = 0; at < lines.length; ) {
    const [, who, first] = PROMPT.exec(lines[at] ?? '') ?? [];
    if (who === undefined || first === undefined) {
      parts.push(lines[at] ?? '');
      at++;
      continue;
    }
    const prompt = [lines[at++] ?? ''];
    while (lines[at]?.startsWith('> ')) prompt.push(lines[at++] ?? '');
    const command = [first, ...prompt.slice(1).map((line) => line.slice(2))].join('\n');
    const answer: string[] = [];
    while (at < lines.length && lines[at] !== '' && !PROMPT.test(lines[at] ?? '')) answer.push(lines[at++] ?? '');
    const step = { who, command, prompt };
    parts.push(step);
    answers.set(step, answer.join('\n'));
  }
  return { parts, answers };
}

/** Texts that differ in each run. A numbered name stands for one value, in commands too. */
const VOLATILE: readonly (readonly [string, RegExp])[] = [
  ['token', /eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/g],
  ['handle', /pass_[a-z2-7]{32}/g],
  ['uuid', /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g],
  ['key', /(?<![\w-])[\w-]{43}(?![\w-])/g],
  ['name', /(?<=\b(?:carl|dana|devi)-)[bcdfghjklmnpqrstvwxz2456789]{5}\b/g],
  ['time', /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g],
  ['age', /(?<=\s)(?:\d+[smhd])+(?=\s|$)/gm],
  ['version', /(?<="resourceVersion": ?")\d+(?=")/g],
  ['cursor', /(?<="continue": ?")[^"]+(?=")/g],
];
const NUMBERED = new Set(['token', 'handle', 'uuid', 'key', 'name', 'cursor']);

/** The names of one transcript. */
export class Names {
  readonly #values = new Map<string, string>();

  #nameOf(kind: string, value: string): string {
    if (!NUMBERED.has(kind)) return `<${kind}>`;
    for (const [name, known] of this.#values) if (known === value) return name;
    const name = `<${kind}-${[...this.#values.keys()].filter((one) => one.startsWith(`<${kind}-`)).length + 1}>`;
    this.#values.set(name, value);
    return name;
  }

  hide(text: string): string {
    return VOLATILE.reduce(
      (all, [kind, pattern]) => all.replaceAll(pattern, (value) => this.#nameOf(kind, value)),
      text,
    );
  }

  insert(text: string): string {
    return text.replaceAll(/<[a-z]+-\d+>/g, (name) => this.#values.get(name) ?? name);
  }
}

/** Pads the columns of a table again: names have other lengths than values. */
export function alignTable(text: string): string {
  const lines = text.split('\n');
  if (!/^[A-Z][A-Z- ]+$/.test(lines[0] ?? '') || lines.length < 2) return text;
  const rows = lines.map((line) => line.trimEnd().split(/ {2,}/));
  // A line without columns is a sentence below the table.
  const widths = rows.filter((row) => row.length > 1);
  const width = (column: number): number => Math.max(0, ...widths.map((row) => row[column]?.length ?? 0));
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(width(at) + 3))
        .join('')
        .trimEnd(),
    )
    .join('\n');
}

export interface World {
  /** Where the commands run; `bin/` is on their PATH, and the login of each person is in `home/`. */
  readonly folder: string;
  /** The address of the server, for `https://clusterpass.example.com` in a transcript. */
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  /** Commands that the test does itself. */
  readonly actions?: Readonly<Record<string, () => Promise<void>>>;
}

const ADDRESS = 'https://clusterpass.example.com';
/** A `cat` shows what another command is still writing. */
const SETTLE_MS = 10_000;

export function environmentOf({ folder, env }: World, who: string): Record<string, string> {
  const home = join(folder, 'home', who);
  mkdirSync(home, { recursive: true });
  return { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, HOME: home, ...env };
}

/** With a command that ends with ` &`, whose process goes into `background`. */
async function execute(world: World, who: string, text: string, background: ChildProcess[]): Promise<string> {
  const env = environmentOf(world, who);
  const action = world.actions?.[text];
  if (action !== undefined) {
    await action();
    return '';
  }
  const client = text.includes('\n') ? undefined : clientCommand(text);
  if (client !== undefined) {
    const { code, stdout, stderr } = await runClientCommand(client, { env, cwd: world.folder });
    return `${stdout}${stderr}${code === 0 ? '' : `\n[exit code ${code}]`}`;
  }
  const child = spawn('bash', ['-o', 'pipefail', '-c', text.replace(/ &$/, '')], {
    cwd: world.folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  if (text.endsWith(' &')) {
    background.push(child);
    return '';
  }
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      output += part;
    });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return `${output}${code === 0 ? '' : `\n[exit code ${code}]`}`;
}

/** Runs the commands in order. Resolves with the transcript as it is now. */
export async function runTranscript(text: string, world: World): Promise<string> {
  const { parts, answers } = parseTranscript(text);
  const names = new Names();
  const background: ChildProcess[] = [];
  const answerTo = async (step: Step): Promise<string> => {
    const output = await execute(
      world,
      step.who,
      names.insert(step.command).replaceAll(ADDRESS, world.url),
      background,
    );
    const lines = output.replaceAll(world.url, ADDRESS).replaceAll(world.folder, '.').split('\n');
    // A blank line would end the answer.
    return alignTable(names.hide(lines.filter((line) => line.trim() !== '').join('\n')));
  };
  const result: string[] = [];
  for (const part of parts) {
    if (typeof part === 'string') {
      result.push(part);
      continue;
    }
    let answer = await answerTo(part);
    const until = Date.now() + (process.env.UPDATE === '1' ? 1_000 : SETTLE_MS);
    const isDone = (): boolean => process.env.UPDATE !== '1' && answer === answers.get(part);
    while (part.command.startsWith('cat ') && !isDone() && Date.now() < until) {
      await delay(100);
      answer = await answerTo(part);
    }
    result.push(...part.prompt, ...(answer === '' ? [] : [answer.trimEnd()]));
  }
  // With all processes of its pipe.
  for (const { pid = 0, exitCode } of background) if (exitCode === null) process.kill(-pid);
  return `${result.join('\n')}\n`;
}
