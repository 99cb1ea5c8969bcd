import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import type { Context } from '../../../src/cli/command.ts';
import { addCommands, newProgram } from '../../../src/cli/program.ts';
import { NO_PROGRESS } from '../../../src/cli/progress.ts';
import { addStoreCommands } from '../../../src/cli/store-program.ts';

const { version: VERSION } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

export interface CommandInput {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: string;
  /** Called with what is written to standard error, for commands that ask for something meanwhile. */
  readonly onError?: ((text: string) => void) | undefined;
}

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command of the client, or of `clusterpass store`, in this process: the same code over the same sockets and
 * files, without the start of Node.
 */
export async function runCommand(
  args: readonly string[],
  { env, cwd, stdin, onError }: CommandInput,
): Promise<CliResult> {
  const said = { stdout: '', stderr: '' };
  const into = (name: keyof typeof said, heard?: (text: string) => void) => ({
    isTerminal: false,
    write: (text: string): void => {
      said[name] += text;
      heard?.(text);
    },
  });
  const context: Context = {
    env,
    cwd,
    version: VERSION,
    now: Date.now,
    out: into('stdout'),
    err: into('stderr', onError),
    readStdin: async () => stdin,
    progress: NO_PROGRESS,
    stopped: () => new AbortController().signal,
  };
  let code: number | null = null;
  const program = newProgram(context).exitOverride();
  program.command('serve').description('Serve the API.');
  const finish = (ended: number): void => {
    code = ended;
  };
  if (args[0] === 'store') {
    const { runStoreCommand } = await import('../../../src/server/store-command.ts');
    addStoreCommands(program.command('store'), context, runStoreCommand, finish);
  }
  addCommands(program, args, context, finish);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    code = error.exitCode;
  }
  return { code, ...said };
}

/** Runs `clusterpass store` with these arguments. */
export const runStore = (...args: string[]): Promise<CliResult> =>
  runCommand(['store', ...args], { env: process.env, cwd: process.cwd(), stdin: '' });
