import { reviewSelf } from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import { isStatus } from '../../client/errors.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { type Connection, clientFor, resolveConnection } from '../connection/connection.ts';
import { changeLogins, type Login, loginFor, readLogins } from '../connection/logins.ts';
import { clientSettings, signIn } from '../oidc/sign-in.ts';
import { printable } from '../output/terminal-safe.ts';

/** Gets a token, or takes the one that is given; tries it, then keeps it. */
export const run: Run = async (context, invocation) => {
  const { connection, session } = await credentials(context, invocation);
  const { server, certificateAuthority, insecureSkipTlsVerify } = connection;
  const client = await clientFor(context, connection);
  const user = await userOf(client);
  const login: Login = {
    token: (await connection.token?.()) ?? '',
    ...(session === undefined ? {} : { session }),
    ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    ...(insecureSkipTlsVerify ? { insecureSkipTlsVerify } : {}),
    productName: invocation.text('productName') ?? (await learnProductName(client)) ?? connection.productName,
  };
  await changeLogins(context, ({ logins }) => ({ current: server, logins: { ...logins, [server]: login } }));
  context.out.write(`Logged in to ${server} as ${JSON.stringify(printable(user))}.\n`);
  return undefined;
};

interface Credentials {
  readonly connection: Connection;
  readonly session: Login['session'];
}

/** A token that is given, unless an identity provider is named on the command line. */
async function credentials(context: Context, invocation: Invocation): Promise<Credentials> {
  const isGiven = [invocation.text('token'), invocation.text('tokenFile')].some((value) => value !== undefined);
  const names = invocation.text('issuerUrl') !== undefined || invocation.is('device');
  if (isGiven && names) throw new CliError('give either a token or an identity provider, not both');
  if (isGiven || (!names && context.env.CLUSTERPASS_TOKEN)) {
    return { connection: await resolveConnection(context, invocation), session: undefined };
  }
  const logins = await readLogins(context);
  const server = invocation.text('server') ?? (context.env.CLUSTERPASS_SERVER || undefined) ?? logins.current;
  if (server === undefined) throw new CliError(`give the server by --server URL, and ${WAYS}`);
  const connection = await resolveConnection(context, invocation);
  const settings = await clientSettings(context, invocation, loginFor(logins, connection.server)?.session);
  if (settings === undefined) throw new CliError(`give ${WAYS}`);
  const { token, session } = await signIn(context, invocation, settings);
  return { connection: { ...connection, token: () => token }, session };
}

const WAYS =
  'an identity provider by --issuer-url URL and --client-id ID, or a token by --token-file FILE (- is stdin)';

async function userOf(client: Client): Promise<string> {
  try {
    return (await reviewSelf(client)).status?.userInfo?.username ?? '';
  } catch (error) {
    // The usual words, that one must be logged in, are no help to somebody who is logging in.
    throw isStatus(error, 401) ? new CliError('the server refused this token') : error;
  }
}

/** An issuer is `<base URL>/<product name>/<cluster>`: any cluster that the caller sees tells the word. */
async function learnProductName(client: Client): Promise<string | undefined> {
  for await (const { items } of client.clusterPages({ limit: 1 })) {
    const issuer = items[0]?.metadata.annotations?.['clusterpass.dev/issuer'] ?? '';
    const word = URL.canParse(issuer) ? new URL(issuer).pathname.split('/').at(-2) : undefined;
    return word === undefined || !/^[a-z0-9-]+$/i.test(word) ? undefined : word;
  }
  return undefined;
}
