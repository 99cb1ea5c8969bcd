import { recordIdOf } from '../../api/connector.ts';
import { NEEDS_APPROVAL } from '../../api/decision.ts';
import type { BoundObjectReference } from '../../api/kinds/token-request.ts';
import { isTokenId } from '../../api/names.ts';
import { type ResourceAttributes, reviewAccess } from '../../client/access-reviews.ts';
import type { Client } from '../../client/create-client.ts';
import { isStatus, StatusError } from '../../client/errors.ts';
import type { IssuedToken, TokenOptions, UserpassOptions } from '../../client/types.ts';
import { memberOf } from '../../lib/json.ts';
import { nearest } from '../../lib/nearest.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, isDryRun, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { describeError } from '../describe-error.ts';
import { isPrinted } from '../output/printer.ts';

/** Writes only the token to stdout; messages go to stderr. */
export const run: Run = async (context, invocation) => {
  const cluster = invocation.required('cluster');
  const expirationSeconds = invocation.seconds('duration');
  const minExpirationSeconds = invocation.seconds('minDuration');
  const dryRun = isDryRun(invocation);
  const shared: UserpassOptions = { cluster, dryRun, expirationSeconds, minExpirationSeconds };
  const account = accountOptions(invocation);
  const client = await connect(context, invocation);
  const created = await createToken(context, invocation, (isTracked) =>
    account === 'me'
      ? client.createUserpass({ ...shared, group: invocation.text('group'), tracked: isTracked })
      : client.createToken({ ...shared, ...account, tracked: isTracked }),
  ).catch(async (error: unknown) => {
    if (account === 'me' || !(isStatus(error, 403) || isStatus(error, 404))) throw error;
    // Most names that fail are misspelled: what may be meant comes before how to ask for what was written.
    const { clusterHint } = await import('../select-clusters.ts');
    const meant = await nearestAccount(client, cluster, `${account.namespace}/${account.name}`);
    const all = [
      await clusterHint(context, invocation, cluster, error),
      meant && `Did you mean the service account ${meant}?`,
      await requestHint(client, { ...shared, ...account }, error),
    ];
    const hints = all.filter((hint) => hint !== undefined);
    if (hints.length === 0) throw error;
    context.err.write([describeError(error), ...hints, ''].join('\n'));
    return undefined;
  });
  if (created === undefined) return 1;
  const { tracked, issued } = created;
  const { token, expirationTimestamp, tokenRequest } = issued;
  if (!(await isPrinted(context, invocation, tokenRequest))) {
    if (dryRun) context.err.write(`The token would expire at ${expirationTimestamp} (server dry run).\n`);
    // A file of the token has no newline, see `admin.token`.
    else context.out.write(context.out.isTerminal ? `${token}\n` : token);
  }
  const isShown = tracked && !dryRun && (invocation.is('tracked') || context.err.isTerminal);
  const id = isShown ? parseTokenReference(token)?.id : undefined;
  if (id !== undefined) context.err.write(`To revoke this token: clusterpass token revoke ${id}\n`);
  return 0;
};

/** `ci/builder`: the usable account of the cluster whose name is nearest to this one, if that is not usable itself. */
async function nearestAccount(client: Client, cluster: string, account: string): Promise<string | undefined> {
  // The error about the name is what matters: it is printed also if this request fails.
  const usable = await client.usableAccounts(cluster).catch(() => undefined);
  const names = usable?.items.map(({ namespace, name }) => `${namespace}/${name}`) ?? [];
  const found = nearest(account, names);
  return found === account || found === undefined ? undefined : terminalSafe(found);
}

type AccountOptions = Omit<TokenOptions, keyof UserpassOptions>;

/** What a request for an account has beyond one for a person. */
function accountOptions(invocation: Invocation): AccountOptions | 'me' {
  const [name] = invocation.args;
  if (invocation.is('asMe')) {
    if (name !== undefined) throw new CliError('--as-me takes no service account');
    return 'me';
  }
  if (name === undefined) throw new CliError('name the service account, or set --as-me');
  if (invocation.text('group') !== undefined) throw new CliError('--group needs --as-me');
  const [namespace = '', account = '', ...more] = name.split('/');
  if (name.includes('/')) {
    const hint = account === '' || more.length > 0 ? '' : `: use ${account} -n ${namespace}`;
    throw new CliError(`${JSON.stringify(name)} is not the name of a service account${hint}`);
  }
  return {
    namespace: invocation.value('namespace'),
    name,
    audiences: invocation.list('audience'),
    forCluster: invocation.is('forCluster'),
    boundObjectRef: boundObject(invocation),
  };
}

/**
 * Tracked, unless the user says otherwise; the console has the same default. Where the server cannot keep a record, the
 * token is issued without one, unless the user has insisted.
 */
async function createToken(
  { err }: Context,
  invocation: Invocation,
  request: (tracked: boolean) => Promise<IssuedToken>,
): Promise<{ tracked: boolean; issued: IssuedToken }> {
  const tracked = !invocation.isOff('tracked');
  try {
    return { tracked, issued: await request(tracked) };
  } catch (error) {
    const problem = trackingProblem(error);
    if (!tracked || invocation.is('tracked') || problem === undefined) throw error;
    const issued = await request(false);
    err.write(`Warning: the token has no record: ${terminalSafe(problem)}\n`);
    return { tracked: false, issued };
  }
}

/**
 * Why there is no record, without the name of the field: the cluster issues its own tokens (422), or the caller has too
 * many records (403).
 */
function trackingProblem(error: unknown): string | undefined {
  if (!(error instanceof StatusError)) return undefined;
  const cause = error.status.details?.causes?.find(
    ({ field }) => field === 'metadata.annotations[clusterpass.dev/tracked]',
  );
  return cause === undefined ? undefined : (cause.message ?? error.message).replace(/^Forbidden: /, '');
}

function boundObject(invocation: Invocation): BoundObjectReference | undefined {
  const kind = invocation.text('boundObjectKind');
  const name = invocation.text('boundObjectName');
  const uid = invocation.text('boundObjectUid');
  if (kind === undefined) {
    if (name !== undefined)
      throw new CliError('--bound-object-name can only be set if --bound-object-kind is provided');
    if (uid !== undefined) throw new CliError('--bound-object-uid can only be set if --bound-object-kind is provided');
    return undefined;
  }
  if (!name) throw new CliError('--bound-object-name is required if --bound-object-kind is provided');
  return { kind, apiVersion: 'v1', name, ...(uid === undefined ? {} : { uid }) };
}

// Not from api/kinds/, which loads the schemas of kinds: `create token` starts fast.
const GROUP = 'clusterpass.dev';

/** How to ask for the passes of an account that the caller may not get; undefined if it may not ask either. */
async function requestHint(
  client: Client,
  { cluster, namespace, name }: Pick<TokenOptions, 'cluster' | 'namespace' | 'name'>,
  error: unknown,
): Promise<string | undefined> {
  if (!isStatus(error, 403)) return undefined;
  // The refusal says how to ask, and needs no second way.
  if (error.message.includes(NEEDS_APPROVAL)) return undefined;
  const may = async (attributes: Pick<ResourceAttributes, 'group' | 'resource' | 'subresource' | 'name'>) => {
    const review = reviewAccess(client, cluster, { resourceAttributes: { verb: 'create', namespace, ...attributes } });
    // The refusal is what matters: it is printed also if this fails.
    return (await review.catch(() => undefined))?.allowed;
  };
  const [mayIssue, mayAsk] = await Promise.all([
    may({ resource: 'serviceaccounts', subresource: 'token', name }),
    may({ group: GROUP, resource: 'accessrequests' }),
  ]);
  // A caller with the permission was refused for another reason, e.g. a quota.
  if (mayIssue !== false || mayAsk !== true) return undefined;
  const account = terminalSafe(`${namespace}/${name}`);
  return `Ask for it: clusterpass request create --cluster ${terminalSafe(cluster)} --account ${account} --reason '...'`;
}

export interface TokenReference {
  readonly id: string;
  /** Known if the text was a token, not an ID, and not one that a connector has issued. */
  readonly issuer: string | undefined;
  /** A connector has issued it: it ends with its Secret in the cluster. */
  readonly isOrdered?: boolean;
  readonly audiences?: readonly string[];
  /** Epoch seconds. */
  readonly expiresAt?: number;
}

/**
 * Parses a token or a token ID; undefined when the text is neither. The signature is not verified: the server only
 * gets the ID. The text may be a secret, so no message repeats it.
 */
export function parseTokenReference(text: string): TokenReference | undefined {
  // Audit logs, those of clusters too, have the ID of a token as `JTI=...` (credential-id of Kubernetes).
  const given = text.trim().replace(/^JTI=/, '');
  const id = given.toLowerCase();
  if (isTokenId(id)) return { id, issuer: undefined };
  const parts = given.split('.', 4);
  if (parts.length !== 3) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString());
    const { iss, aud, exp } = (claims ?? {}) as Readonly<Record<string, unknown>>;
    const recordId = recordIdOf(claims);
    if (typeof recordId !== 'string' || !isTokenId(recordId) || typeof iss !== 'string') return undefined;
    return {
      id: recordId,
      ...(recordId === memberOf(claims, 'jti') ? { issuer: iss } : { issuer: undefined, isOrdered: true }),
      ...(Array.isArray(aud) ? { audiences: aud.filter((each) => typeof each === 'string') } : {}),
      ...(typeof exp === 'number' ? { expiresAt: exp } : {}),
    };
  } catch {
    return undefined;
  }
}
