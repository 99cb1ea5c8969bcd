import { CliError, type Context, type Invocation, type Run } from './command.ts';
import { connect } from './connection.ts';
import { describeError } from './report-error.ts';
import { tokenIdIn } from './token-id.ts';

/** By id, or by the token on stdin. What was read is never repeated: it may be the token. */
export const run: Run = async (context, invocation) => {
  const ids = await idsOf(context, invocation);
  const client = await connect(context, invocation);
  let failed = false;
  for (const id of ids) {
    try {
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

async function idsOf(context: Context, invocation: Invocation): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, argument] of invocation.args.entries()) {
    const id = argument === '-' ? await idOnStdin(context, invocation) : tokenIdIn(argument);
    if (id === undefined) {
      const which = argument === '-' ? 'what is on stdin' : `argument ${index + 1}`;
      throw new CliError(`${which} is neither a token nor the id of one (a UUID, the claim jti)`);
    }
    ids.push(id);
  }
  return ids;
}

function idOnStdin(context: Context, invocation: Invocation): Promise<string | undefined> {
  if (invocation.text('tokenFile') === '-') {
    throw new CliError('stdin can be the token to revoke or the one to do it with, not both: give --token-file a file');
  }
  return context.readStdin().then(tokenIdIn);
}
