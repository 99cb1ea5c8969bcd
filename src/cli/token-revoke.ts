import type { Client } from '../client/create-client.ts';
import { StatusError } from '../client/errors.ts';
import { CliError, type Context, type Invocation, type Run } from './command.ts';
import { connect } from './connection.ts';
import { printable } from './escape-unprintable.ts';
import { describeError } from './report-error.ts';
import { type GivenToken, readGivenToken } from './token-id.ts';

/** Of an issuer that is repeated. */
const MAX_SHOWN = 200;

/** By id, or by the token on stdin. What was read is never repeated: it may be the token. */
export const run: Run = async (context, invocation) => {
  const given = await givenTokens(context, invocation);
  const client = await connect(context, invocation);
  let failed = false;
  for (const { id, issuer } of given) {
    try {
      if (issuer !== undefined && !(await isIssuedHere(client, issuer))) {
        // The server would take the id at its word, and the token would go on opening what it opens.
        const where = printable(issuer.slice(0, MAX_SHOWN));
        throw new CliError(`token ${id} was issued by ${where}, and can be revoked only there`);
      }
      await client.revokeToken(id);
      context.out.write(`token ${id} revoked\n`);
    } catch (error) {
      const text = describeError(error);
      if (text === undefined) throw error;
      failed = true;
      context.err.write(`${text}\n`);
    }
  }
  return failed ? 1 : 0;
};

/** An issuer is `<address>/<word>/<cluster>`, and its own document tells whether it is one of this server. */
async function isIssuedHere(client: Client, issuer: string): Promise<boolean> {
  const path = URL.canParse(issuer) ? new URL(issuer).pathname : '';
  const [, tail] = /((?:\/[a-z0-9.-]+){2})$/.exec(path) ?? [];
  if (tail === undefined) return false;
  try {
    const { value } = await client.request<{ issuer?: unknown }>('GET', `${tail}/.well-known/openid-configuration`);
    return value.issuer === issuer;
  } catch (error) {
    // No such path here, and so no such issuer.
    if (error instanceof StatusError && [400, 403, 404].includes(error.code)) return false;
    throw error;
  }
}

async function givenTokens(context: Context, invocation: Invocation): Promise<GivenToken[]> {
  const given: GivenToken[] = [];
  for (const [index, argument] of invocation.args.entries()) {
    const token = argument === '-' ? await tokenOnStdin(context, invocation) : readGivenToken(argument);
    if (token === undefined) {
      const which = argument === '-' ? 'what is on stdin' : `argument ${index + 1}`;
      throw new CliError(`${which} is neither a token nor the id of one (a UUID, the claim jti)`);
    }
    given.push(token);
  }
  return given;
}

function tokenOnStdin(context: Context, invocation: Invocation): Promise<GivenToken | undefined> {
  if (invocation.text('tokenFile') === '-') {
    throw new CliError('stdin can be the token to revoke or the one to do it with, not both: give --token-file a file');
  }
  return context.readStdin().then(readGivenToken);
}
