import { type Command, type Context, Invocation, optionName } from '../../../src/cli/command.ts';
import { COMMANDS } from '../../../src/cli/command-table/commands.ts';
import { flagsOf } from '../../../src/cli/command-table/flags.ts';
import { loadCommand } from '../../../src/cli/program.ts';
import { NO_PROGRESS } from '../../../src/cli/progress.ts';
import type { Person } from './cli.ts';
import type { Server } from './server.ts';

/** A command that runs in this process until it is stopped. */
export interface StartedCommand {
  readonly written: { readonly out: string; readonly err: string };
  stop(): Promise<number | undefined>;
}

export function startCommand(
  name: 'connector' | 'sync export' | 'sync import',
  { person, server }: { readonly person: Person; readonly server: Server },
  options: Readonly<Record<string, unknown>>,
): StartedCommand {
  const stop = new AbortController();
  const written = { out: '', err: '' };
  const into = (name: 'out' | 'err') => ({
    isTerminal: false,
    write: (text: string): void => {
      written[name] += text;
    },
  });
  const context: Context = {
    env: { HOME: person.home, CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: server.adminToken },
    cwd: person.home,
    version: '0.0.0',
    now: Date.now,
    out: into('out'),
    err: into('err'),
    readStdin: async () => '',
    progress: NO_PROGRESS,
    stopped: () => stop.signal,
  };
  const command = COMMANDS.find(({ path }) => path.join(' ') === name);
  if (command === undefined) throw new Error(`there is no command ${name}`);
  const invocation = new Invocation([], { ...defaultsOf(command), ...options });
  const ended = loadCommand(command).then(async (run) => (await run(context, invocation)) || 0);
  return {
    written,
    stop: () => {
      stop.abort();
      return ended;
    },
  };
}

const defaultsOf = (command: Command): Record<string, string> =>
  Object.fromEntries(
    flagsOf(command).flatMap(({ flags, default: fallback }) =>
      fallback === undefined ? [] : [[optionName(/--[a-z-]+/.exec(flags)?.[0] ?? ''), fallback]],
    ),
  );
