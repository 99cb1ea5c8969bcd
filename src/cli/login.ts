import type { Client } from '../client/create-client.ts';
import { isStatus } from '../client/errors.ts';
import { CliError, type Run } from './command.ts';
import { clientFor, resolveConnection } from './connection.ts';
import { changeLogins, type Login } from './logins.ts';
import { printable } from './printable.ts';
import { reviewSelf } from './reviews.ts';

/** Tries the token, then keeps it. */
export const run: Run = async (context, invocation) => {
  const given = [invocation.text('token'), invocation.text('tokenFile'), context.env.CLUSTERPASS_TOKEN];
  if (!given.some((value) => value !== undefined && value !== '')) {
    const named = invocation.text('server') ?? (context.env.CLUSTERPASS_SERVER || undefined);
    throw new CliError(
      `give ${named === undefined ? 'the server by --server URL and ' : ''}the token by --token-file FILE ` +
        '(or --token-file - for stdin); signing in at an identity provider is not possible yet',
    );
  }
  const connection = await resolveConnection(context, invocation);
  const { server, certificateAuthority, insecureSkipTlsVerify } = connection;
  const client = await clientFor(context, connection);
  const user = await userOf(client);
  const login: Login = {
    token: (await connection.token?.()) ?? '',
    ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    ...(insecureSkipTlsVerify ? { insecureSkipTlsVerify } : {}),
    productName: invocation.text('productName') ?? (await learnProductName(client)) ?? connection.productName,
  };
  await changeLogins(context, ({ logins }) => ({ current: server, logins: { ...logins, [server]: login } }));
  context.out.write(`Logged in to ${server} as ${JSON.stringify(printable(user))}.\n`);
  return undefined;
};

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
