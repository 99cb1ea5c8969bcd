import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A program failed, or could not be used. */
export class CommandError extends Error {}

/** Runs a program and returns its standard output. Throws CommandError when it fails. */
export function run(
  command: string,
  args: readonly string[],
  { cwd, env }: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: 600_000,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, LC_ALL: 'C', ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (status === 0) return stdout;
  const said = `${stderr ?? ''}`.trim();
  const line = said.split('\n').find((text) => text.startsWith('E: ')) ?? error?.message ?? (said || `exit ${status}`);
  throw new CommandError(`${command} ${args.at(-1)}: ${line}`);
}

/** The text of a file; undefined if it cannot be read. */
export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
