import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { serviceAccountKind } from '../../api/kinds/core.ts';
import type { GrantedSubject } from '../../api/kinds/grant-reviews.ts';
import { type ResourceAttributes, reviewResourceAccess } from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import type { StatusError } from '../../client/errors.ts';
import { terminalSafe } from '../../lib/text.ts';
import { absenceOf } from '../absence.ts';
import { clusterPath } from '../clusters.ts';
import { CliError, type Invocation, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { GRANT_HEADERS, grantCells } from '../grant-rows.ts';
import { objectPath } from '../object-path.ts';
import { printerFor } from '../output/printer.ts';
import { renderTable } from '../output/table.ts';
import { type AskedAction, askedAction } from '../resource-attributes.ts';
import { parseServiceAccount } from '../service-account.ts';

/** Lists who may do something, with the binding and the role behind each. */
export const run: Run = async (context, invocation) => {
  const print = await printerFor(invocation.text('output'), ['json', 'yaml']);
  const [verb, type, name] = invocation.args;
  if (verb !== undefined && type === undefined) throw new CliError('you must specify VERB and TYPE');
  const client = await connect(context, invocation);
  const status = await reviewResourceAccess(
    client,
    invocation.text('cluster'),
    verb === undefined ? { resourceAttributes: reachOf(invocation) } : asked(verb),
  );
  const cluster = invocation.text('cluster');
  const absentCluster = cluster === undefined ? undefined : await absenceOf(client, clusterPath(cluster));
  // The labels of a cluster decide which bindings hold there: without a cluster the table says nothing.
  if (absentCluster !== undefined) throw absentCluster;
  const absentAccount = await absenceOfAccount(client, invocation);
  if (absentAccount !== undefined) context.err.write(`Warning: ${terminalSafe(absentAccount.message)}\n`);
  if (print !== undefined) {
    context.out.write(print(status));
    return 0;
  }
  const headers = invocation.isOff('headers') ? [] : [['KIND', 'NAME', ...GRANT_HEADERS]];
  const rows = (status.subjects ?? []).map((subject) => [subject.kind ?? '', nameOf(subject), ...grantCells(subject)]);
  context.out.write(renderTable([...headers, ...rows]));
  if (status.evaluationError) context.err.write(`Warning: ${terminalSafe(status.evaluationError)}\n`);
  return 0;

  function asked(askedVerb: string): AskedAction {
    if (invocation.text('account') !== undefined) throw new CliError('--account cannot be combined with VERB and TYPE');
    return askedAction(context, invocation, client, askedVerb, type ?? '', name);
  }
};

const nameOf = ({ namespace = '', name = '' }: GrantedSubject): string =>
  terminalSafe(namespace === '' ? name : `${namespace}/${name}`);

/** Not an error: an account of a cluster that issues its own tokens may be known to that cluster only. */
async function absenceOfAccount(client: Client, invocation: Invocation): Promise<StatusError | undefined> {
  const account = invocation.text('account');
  if (account === undefined) return undefined;
  const { namespace, name } = parseServiceAccount(account, '--account');
  const scope = { cluster: invocation.text('cluster'), namespace };
  return absenceOf(client, objectPath(client, serviceAccountKind, scope, name));
}

/** Without VERB and TYPE: who sees the cluster, or who gets passes of the account. */
function reachOf(invocation: Invocation): ResourceAttributes {
  const cluster = invocation.text('cluster');
  if (cluster === undefined) throw new CliError('you must specify VERB and TYPE, or --cluster');
  const account = invocation.text('account');
  if (account === undefined) return { verb: 'get', group: CLUSTER_GROUP, resource: 'clusters', name: cluster };
  return {
    verb: 'create',
    resource: 'serviceaccounts',
    subresource: 'token',
    ...parseServiceAccount(account, '--account'),
  };
}
