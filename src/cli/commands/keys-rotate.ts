import { type ApiObject, apiVersionOf } from '../../api/kind.ts';
import { type SigningKeySpec, type SigningKeyStatus, signingKeyKind } from '../../api/kinds/signing-key.ts';
import { terminalSafe } from '../../lib/text.ts';
import type { Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { isDryRun } from '../dry-run.ts';
import { collectionPath } from '../object-path.ts';

export const run: Run = async (context, invocation) => {
  const dryRun = isDryRun(invocation);
  const client = await connect(context, invocation);
  const algorithm = invocation.text('algorithm');
  const spec: SigningKeySpec = {
    ...(algorithm === undefined ? {} : { algorithm }),
    ...(invocation.is('force') ? { force: true } : {}),
  };
  const body = { apiVersion: apiVersionOf(signingKeyKind), kind: signingKeyKind.kind, spec };
  const query = dryRun ? { dryRun: 'All' } : {};
  const options = { body, query, expects: 'object' } as const;
  const { value } = await client.request<ApiObject>('POST', collectionPath(client, signingKeyKind), options);
  const { state, signsFrom = '' } = (value.status ?? {}) as SigningKeyStatus;
  const name = terminalSafe(value.metadata.name ?? '');
  const when = state === 'Current' ? 'signs from now on' : `signs from ${terminalSafe(signsFrom)} on`;
  context.out.write(`${name} ${when}${dryRun ? ' (server dry run)' : ''}\n`);
  return undefined;
};
