import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A program failed, or could not be used. */
export class CommandError extends Error {}

/**
 * Runs a program and returns its standard output. Throws CommandError when it fails.
 * @param {string} command
 * @param {string[]} args
 * @param {string} [cwd]
 */
export function run(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: 600_000,
    maxBuffer: 16 * 1024 * 1024,
    env: { ...process.env, LC_ALL: 'C' },
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (status === 0) return stdout;
  const line =
    `${stderr ?? ''}`.split('\n').find((text) => text.startsWith('E: ')) ?? error?.message ?? `exit ${status}`;
  throw new CommandError(`${command} ${args.at(-1)}: ${line.trim()}`);
}

/**
 * The text of a file; undefined if it cannot be read.
 * @param {string} path
 */
export function textOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
