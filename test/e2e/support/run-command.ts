import { readFileSync } from 'node:fs';
import type { Context } from '../../../src/cli/command.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { NO_PROGRESS } from '../../../src/cli/progress.ts';
import { storeClient } from '../../../src/cli/served-lists.ts';
import type { StoreTask } from '../../../src/server/store-command.ts';

const { version: VERSION } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

export interface CommandInput {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: string;
  /** Called with what the command says that it waits for. */
  readonly onWait?: ((what: () => string) => void) | undefined;
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
  { env, cwd, stdin, onError, onWait }: CommandInput,
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
    progress:
      onWait === undefined
        ? NO_PROGRESS
        : {
            waitFor: (what) => {
              onWait(what);
              return () => {};
            },
          },
    stopped: () => new AbortController().signal,
  };
  const code = await runProgram(args, context, async ({ path: [group, task] }, flags, own) => {
    if (group !== 'store') throw new Error(`${group} is no client: use run() or startServer()`);
    const { runStoreCommand } = await import('../../../src/server/store-command.ts');
    return runStoreCommand(task as StoreTask, flags, storeClient(own), own);
  });
  return { code, ...said };
}

/** Runs `clusterpass store` with these arguments. */
export const runStore = (...args: string[]): Promise<CliResult> =>
  runCommand(['store', ...args], { env: process.env, cwd: process.cwd(), stdin: '' });
