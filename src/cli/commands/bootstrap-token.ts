import { randomBytes, randomInt } from 'node:crypto';
import { bootstrapToken, bootstrapTokenDigest } from '../../api/bootstrap-credential.ts';
import type { ApiObject } from '../../api/kind.ts';
import { terminalSafe } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { isDryRun, type Run, writeQuery } from '../command.ts';
import { connect } from '../connection/connection.ts';

const BOOTSTRAP_TOKENS = '/apis/clusterpass.dev/v1alpha1/bootstraptokens';

const SECRET_BYTES = 32;
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const randomName = (): string => Array.from({ length: 10 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** Creates the token here: the server gets its digest only. Writes only the token to stdout. */
export const run: Run = async (context, invocation) => {
  const namePattern = invocation.required('namePattern');
  const labels = invocation.labels('label');
  const seconds = invocation.seconds('duration');
  const dryRun = isDryRun(invocation);
  const [name = randomName()] = invocation.args;
  const token = bootstrapToken(name, randomBytes(SECRET_BYTES));
  const client = await connect(context, invocation);
  const body: ApiObject = {
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'BootstrapToken',
    metadata: { name },
    spec: {
      tokenDigest: bootstrapTokenDigest(token),
      namePattern,
      labels,
      ...(seconds === undefined ? {} : { expirationTimestamp: toTimestamp(context.now() + seconds * 1000) }),
    },
  };
  const query = { ...writeQuery(invocation), fieldValidation: 'Strict' };
  const { value } = await client.request<ApiObject>('POST', BOOTSTRAP_TOKENS, { query, body, expects: 'object' });
  const { expirationTimestamp = '' } = value.spec as { expirationTimestamp?: string };
  const until = terminalSafe(expirationTimestamp);
  context.err.write(
    dryRun
      ? `The token would be valid until ${until} (server dry run).\n`
      : `Valid until ${until}, for one cluster named ${terminalSafe(namePattern)}. ` +
          `To revoke it: clusterpass kubectl delete bootstraptoken ${terminalSafe(name)}\n`,
  );
  // A file of it has no newline, which some programs would send.
  if (!dryRun) context.out.write(context.out.isTerminal ? `${token}\n` : token);
};
