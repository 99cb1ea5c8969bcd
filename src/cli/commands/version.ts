import { defined } from '../../lib/json.ts';
import { goPlatform } from '../../lib/program-files.ts';
import { terminalSafe } from '../../lib/text.ts';
import type { Context, Invocation, Run } from '../command.ts';
import { anonymousClient, givenServer, resolveConnection } from '../connection/connection.ts';
import { readLogins } from '../connection/logins.ts';
import { isPrinted } from '../output/printer.ts';

interface ServerVersion {
  readonly gitVersion?: string;
}

/** Sends no token: the server's version is public. Without a server, only the version of the client is printed. */
export const run: Run = async (context, invocation) => {
  const clientVersion = { gitVersion: `v${context.version}`, platform: goPlatform() };
  const hasServer = givenServer(context, invocation) !== undefined || (await readLogins(context)).current !== undefined;
  const serverVersion = hasServer && !invocation.is('client') ? await versionOfServer(context, invocation) : undefined;
  if (await isPrinted(context, invocation, defined({ clientVersion, serverVersion }))) return;
  context.out.write(`Client Version: ${clientVersion.gitVersion}\n`);
  const { gitVersion = '<unknown>' } = serverVersion ?? {};
  if (serverVersion !== undefined) context.out.write(`Server Version: ${terminalSafe(gitVersion)}\n`);
};

async function versionOfServer(context: Context, invocation: Invocation): Promise<ServerVersion> {
  const client = anonymousClient(context, await resolveConnection(context, invocation));
  return (await client.request<ServerVersion>('GET', '/version')).value;
}
