import { goPlatform } from '../../lib/platform.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { anonymousClient, resolveConnection } from '../connection/connection.ts';
import { printerFor } from '../output/printer.ts';

interface ServerVersion {
  readonly gitVersion?: string;
}

/** Sends no token: the server's version is public. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation);
  const clientVersion = { gitVersion: `v${context.version}`, platform: goPlatform() };
  // Printed even if the request to the server fails.
  if (print === undefined) context.out.write(`Client Version: ${clientVersion.gitVersion}\n`);
  let server: ServerVersion | undefined;
  try {
    server = invocation.is('client') ? undefined : await serverVersion(context, invocation);
  } catch (error) {
    if (print !== undefined) context.out.write(print({ clientVersion }));
    throw error;
  }
  if (print !== undefined) {
    context.out.write(print({ clientVersion, ...(server === undefined ? {} : { serverVersion: server }) }));
  } else if (server !== undefined) {
    context.out.write(`Server Version: ${terminalSafe(server.gitVersion ?? '<unknown>')}\n`);
  }
  return undefined;
};

/** Undefined, and not an error, if no server is configured. */
async function serverVersion(context: Context, invocation: Invocation): Promise<ServerVersion | undefined> {
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
