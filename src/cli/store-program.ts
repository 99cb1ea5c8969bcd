import type { Command as Commander } from 'commander';
import { addStoreFlags } from '../config/load-options.ts';
import type { Context } from './command.ts';
import { STORE_COMMANDS, type StoreCommand } from './command-table/store-commands.ts';
import { describeError } from './describe-error.ts';
import { addCommand } from './program.ts';
import { servedLists } from './served-lists.ts';

type Flags = Readonly<Record<string, unknown>>;

/** The tasks open a store, which only server/ does. For `check --server` they get a client of that server. */
export type RunStoreTask = (
  task: StoreCommand['task'],
  flags: Record<string, unknown>,
  client: {
    listAt(server: string, flags: Flags): ReturnType<typeof servedLists>;
    describeError(error: unknown): string | undefined;
  },
  context: Context,
) => Promise<number>;

/** Adds the commands of `clusterpass store` to their group; `finish` gets the exit code. */
export function addStoreCommands(
  group: Commander,
  context: Context,
  run: RunStoreTask,
  finish: (code: number) => void,
): void {
  const client = {
    listAt: (server: string, flags: Flags) => servedLists(context, server, flags),
    describeError: (error: unknown) => describeError(error)?.replace(/^error: /, ''),
  };
  for (const command of STORE_COMMANDS) {
    addStoreFlags(addCommand(group, command)).action(async (flags: Record<string, unknown>) =>
      finish(await run(command.task, flags, client, context)),
    );
  }
}
