import { type ApiObject, apiVersionOf } from '../../api/kind.ts';
import { type SigningKeySpec, type SigningKeyStatus, signingKeyKind } from '../../api/kinds/signing-key.ts';
import { compareKeyStates } from '../../api/signing-key-order.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, isDryRun, noteOf, type Run, writeQuery } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { printObjects } from '../output/printer.ts';
import { collectionPath, objectPath } from '../resources.ts';

const statusOf = (key: ApiObject): SigningKeyStatus => (key.status ?? {}) as SigningKeyStatus;

/** Lists the keys in the order of their states. */
export const listKeys: Run = async (context, invocation) => {
  const client = await connect(context, invocation);
  const path = collectionPath(client, signingKeyKind);
  const { items } = (await client.request<{ items: ApiObject[] }>('GET', path, { expects: 'list' })).value;
  const keys = items.toSorted((a, b) => compareKeyStates(statusOf(a).state, statusOf(b).state));
  await printObjects(context, invocation, keys, signingKeyKind);
};

export const rotateKeys: Run = async (context, invocation) => {
  const client = await connect(context, invocation);
  const algorithm = invocation.text('algorithm');
  const spec: SigningKeySpec = {
    ...(algorithm === undefined ? {} : { algorithm }),
    ...(invocation.is('force') ? { force: true } : {}),
  };
  const body = { apiVersion: apiVersionOf(signingKeyKind), kind: signingKeyKind.kind, spec };
  const options = { body, query: writeQuery(invocation), expects: 'object' } as const;
  const { value } = await client.request<ApiObject>('POST', collectionPath(client, signingKeyKind), options);
  const { state, signsFrom = '' } = (value.status ?? {}) as SigningKeyStatus;
  const name = terminalSafe(value.metadata.name ?? '');
  const when = state === 'Current' ? 'signs from now on' : `signs from ${terminalSafe(signsFrom)} on`;
  context.out.write(`${name} ${when}${noteOf(invocation)}\n`);
};

export const revokeKey: Run = async (context, invocation) => {
  const [name = ''] = invocation.args;
  if (!/^[A-Za-z0-9_-]{1,253}$/.test(name)) throw new CliError(`${JSON.stringify(name)} is not the ID of a key`);
  const dryRun = isDryRun(invocation);
  const client = await connect(context, invocation);
  await client.request('DELETE', objectPath(client, signingKeyKind, {}, name), {
    query: dryRun ? { dryRun: 'All' } : {},
  });
  context.out.write(`${name} revoked${noteOf(invocation)}\n`);
  if (!dryRun) {
    context.err.write(
      'Clusterpass now refuses the tokens of this key. Clusters do not notice by themselves: a kube-apiserver accepts ' +
        'them until they expire, as long as it has the key in memory.\n' +
        'Clusterpass makes each cluster that it probes read the keys again: most within a minute, the others in an ' +
        'hour. To be sure, and sooner, on the machine of each API server: clusterpass trust --refresh --file FILE, ' +
        'where FILE is that of --authentication-config. It takes about 20 seconds.\n',
    );
  }
};
