import { type Context, Invocation, type Run } from '../../../src/cli/command.ts';
import { NO_PROGRESS } from '../../../src/cli/progress.ts';
import type { Person } from './cli.ts';
import type { Server } from './server.ts';

/** A command that runs in this process until it is stopped. */
export interface StartedCommand {
  readonly written: { readonly out: string; readonly err: string };
  stop(): Promise<number | undefined>;
}

export function startCommand(
  run: Run,
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
  const ended = Promise.resolve(run(context, new Invocation([], options)));
  return {
    written,
    stop: () => {
      stop.abort();
      return ended;
    },
  };
}
