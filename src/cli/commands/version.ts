import { defined } from '../../lib/json.ts';
import { goPlatform } from '../../lib/program-files.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { anonymousClient, resolveConnection } from '../connection/connection.ts';
import { isPrinted } from '../output/printer.ts';

interface ServerVersion {
  readonly gitVersion?: string;
}

/** Sends no token: the server's version is public. */
export const run: Run = async (context, invocation) => {
  const clientVersion = { gitVersion: `v${context.version}`, platform: goPlatform() };
  let serverVersion: ServerVersion | undefined;
  try {
    serverVersion = invocation.is('client') ? undefined : await versionOfServer(context, invocation);
  } finally {
    // Also if the request to the server fails.
    if (!(await isPrinted(context, invocation, defined({ clientVersion, serverVersion })))) {
      context.out.write(`Client Version: ${clientVersion.gitVersion}\n`);
      const { gitVersion = '<unknown>' } = serverVersion ?? {};
      if (serverVersion !== undefined) context.out.write(`Server Version: ${terminalSafe(gitVersion)}\n`);
    }
  }
};

/** Undefined, and not an error, if no server is configured. */
async function versionOfServer(context: Context, invocation: Invocation): Promise<ServerVersion | undefined> {
  let connection: Awaited<ReturnType<typeof resolveConnection>>;
  try {
    connection = await resolveConnection(context, invocation);
  } catch (error) {
    if (error instanceof CliError && invocation.text('server') === undefined) return undefined;
    throw error;
  }
  const client = anonymousClient(context, connection);
  return (await client.request<ServerVersion>('GET', '/version')).value;
}
