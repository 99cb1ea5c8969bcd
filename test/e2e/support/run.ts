import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'vitest';
import { PROGRAM } from '../../program.ts';
import { countStart } from '../../server-starts.ts';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program until it exits, if wanted through another program: for starts that must fail. */
export async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  launcher: readonly string[] = [],
): Promise<Ended> {
  if (args[0] === 'serve') countStart(expect.getState().testPath);
  const [command = '', ...rest] = [...launcher, process.execPath, PROGRAM, ...args];
  const child = spawn(command, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
}

/** The lines of a log, without one whose end is still missing. Throws when one is not JSON. */
export const logLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
