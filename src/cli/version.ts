import { createClient } from '../client/create-client.ts';
import { CliError, type Context, type Invocation, type Run } from './command.ts';
import { fetchFor, resolveConnection } from './connection.ts';
import { printerFor } from './output.ts';
import { printable } from './printable.ts';

interface ServerVersion {
  readonly gitVersion?: string;
}

/** The server's version is public: no token is sent. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'));
  const server = invocation.is('client') ? undefined : await serverVersion(context, invocation);
  const versions = {
    clientVersion: { gitVersion: `v${context.version}`, platform: `${process.platform}/${process.arch}` },
    ...(server === undefined ? {} : { serverVersion: server }),
  };
  if (print !== undefined) context.out.write(print(versions));
  else {
    context.out.write(`Client Version: ${versions.clientVersion.gitVersion}\n`);
    if (server !== undefined) context.out.write(`Server Version: ${printable(server.gitVersion ?? '<unknown>')}\n`);
  }
  return undefined;
};

/** Without a server there is nothing to ask, and that is no error. */
async function serverVersion(context: Context, invocation: Invocation): Promise<ServerVersion | undefined> {
  let connection: Awaited<ReturnType<typeof resolveConnection>>;
  try {
    connection = await resolveConnection(context, invocation);
  } catch (error) {
    if (error instanceof CliError && invocation.text('server') === undefined) return undefined;
    throw error;
  }
  const client = createClient({ server: connection.server, fetch: await fetchFor(connection) });
  return (await client.request<ServerVersion>('GET', '/version')).value;
}
