import { approvalPage } from '../../api/approval-page.ts';
import { createCatalog } from '../../api/catalog.ts';
import { exactDuration } from '../../api/codec/go-text/human-duration.ts';
import type { ApiObject } from '../../api/kind.ts';
import { type AccessRequestSpec, accessText, requestSpec, requestStatus } from '../../api/kinds/access-request-spec.ts';
import { expiryOf } from '../../api/kinds/approval.ts';
import { namePart } from '../../api/name-part.ts';
import { type ResourceAttributes, reviewSelf } from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import { pause } from '../../lib/backoff.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, isDryRun, noteOf, type Run, writeQuery } from '../command.ts';
import { clientFor, resolveConnection } from '../connection/connection.ts';
import { printerFor } from '../output/printer.ts';
import { attributesOf, findKind } from '../resources.ts';
import { parseServiceAccount } from '../service-account.ts';
import {
  approvablePath,
  bindingRow,
  conditionRows,
  granted,
  nextRows,
  objectName,
  person,
  REQUESTS,
  showApprovable,
} from './approvals.ts';

export const createRequest: Run = async (context, invocation) => {
  const print = await printerFor(invocation);
  const cluster = invocation.required('cluster');
  const reason = invocation.required('reason');
  const durationSeconds = invocation.seconds('duration');
  const connection = await resolveConnection(context, invocation);
  const client = clientFor(context, connection);
  const spec: AccessRequestSpec = {
    cluster,
    ...accessOf(context, invocation, client, cluster),
    reason,
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
  };
  const body = { ...REQUESTS.type, metadata: { generateName: await prefixOf(client) }, spec };
  const options = { body, query: writeQuery(invocation), expects: 'object' } as const;
  const { value } = await client.request<ApiObject>('POST', REQUESTS.path, options);
  const name = value.metadata.name ?? '';
  const waits = invocation.is('wait') && !isDryRun(invocation);
  if (print === undefined) {
    context.out.write(`${objectName(REQUESTS, value)} created${noteOf(invocation)}\n`);
    const page = approvalPage(connection.server, 'accessrequests', name);
    if (!isDryRun(invocation)) context.err.write(`Another person has to approve it: ${page}\n`);
  }
  const shown = waits ? await decisionOf(context, client, name) : value;
  if (print !== undefined) context.out.write(print(shown));
  if (!waits) return 0;
  const { phase = '', next, conditions = [] } = requestStatus(shown);
  const done = `${objectName(REQUESTS, shown)} ${phase.toLowerCase()}${granted(shown)}`;
  if (print === undefined) context.out.write(`${terminalSafe(done)}\n`);
  for (const note of [conditions.at(-1)?.message, next && `Next: ${next}`]) {
    if (note) context.err.write(`${terminalSafe(note)}\n`);
  }
  return phase === 'Approved' ? 0 : 1;
};

const POLL_MS = 2_000;

/** The request once it is decided, or given up, or the command is stopped. */
async function decisionOf(context: Context, client: Client, name: string): Promise<ApiObject> {
  const signal = context.stopped();
  for (;;) {
    const { value } = await client.request<ApiObject>('GET', approvablePath(REQUESTS, name), { expects: 'object' });
    if (requestStatus(value).phase !== 'Pending' || signal.aborted) return value;
    await pause(POLL_MS, { signal });
  }
}

function accessOf(
  context: Context,
  invocation: Invocation,
  client: Client,
  cluster: string,
): Pick<AccessRequestSpec, 'serviceAccount' | 'userpass' | 'resourceAttributes'> {
  const [verb, type] = invocation.args;
  const account = invocation.text('account');
  const asMe = invocation.is('asMe');
  if (verb === undefined) {
    if (asMe) return { userpass: true };
    return account === undefined ? {} : { serviceAccount: parseServiceAccount(account, '--account') };
  }
  const passes = asMe ? '--as-me' : account && '--account';
  if (passes) throw new CliError(`${passes} cannot be combined with VERB and TYPE`);
  if (type === undefined) throw new CliError('you must specify VERB and TYPE');
  const resourceAttributes = attributesOf(context, invocation, client);
  if (isInsideCluster(client, resourceAttributes)) {
    context.err.write(
      `Warning: this permission holds in Clusterpass, not in ${terminalSafe(cluster)} itself. ` +
        'For kubectl, ask for passes with --account NAMESPACE/NAME\n',
    );
  }
  return { resourceAttributes };
}

/** Whether the API server of the cluster decides about such objects, by its own RBAC. Passes are not among them. */
function isInsideCluster(client: Client, { resource, subresource }: ResourceAttributes): boolean {
  if (resource === 'serviceaccounts' && subresource === 'token') return false;
  return findKind(createCatalog(client), resource)?.inCluster !== false;
}

/** Requests begin with the name of their requester, as far as it can be a part of a name. */
async function prefixOf(client: Client): Promise<string> {
  const { status } = await reviewSelf(client);
  return `${namePart(status?.userInfo?.username ?? '') || 'request'}-`;
}

export const showRequests: Run = showApprovable(REQUESTS, (request) => {
  const spec = requestSpec(request);
  const status = requestStatus(request);
  return [
    ['Name:', request.metadata.name],
    ['UID:', request.metadata.uid],
    ['Requester:', person(spec.requestedBy)],
    ['Cluster:', spec.cluster],
    ['Access:', accessText(spec)],
    ['Reason:', spec.reason],
    ['Duration:', exactDuration(spec.durationSeconds ?? 0)],
    ['Phase:', status.phase],
    ['Expires:', expiryOf(request)],
    ['Decided by:', person(status.decidedBy)],
    ['Withdrawn by:', person(status.withdrawnBy)],
    bindingRow(status),
    ...nextRows(spec, status),
    ...conditionRows(status),
  ];
});
