import { isStatus } from '../../client/errors.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { clientFor, resolveConnection } from '../connection/connection.ts';
import { cachedCredential, fromIssued } from '../connection/credential-cache.ts';
import { parseAccount } from '../service-account.ts';
import { secondsOf } from './create-token.ts';

/** An exec credential plugin of client-go: nothing but an ExecCredential on stdout, one sentence when it fails. */
export const run: Run = async (context, invocation) => {
  const apiVersion = askedVersion(context);
  const cluster = invocation.required('cluster', '--cluster');
  const account = accountOf(invocation);
  const audiences = invocation.list('audience');
  const expirationSeconds = secondsOf(invocation.text('duration'));
  const connection = await resolveConnection(context, invocation);
  const { server } = connection;
  const client = await clientFor(context, connection);
  const issue = () =>
    client.createToken({
      cluster,
      ...account,
      audiences,
      ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
    });
  // A session outlives its tokens; whoever gave one token is known by it.
  const caller = connection.sessionId ?? (await connection.token?.()) ?? '';
  const identity = [caller, cluster, account, audiences, expirationSeconds ?? null];
  try {
    const { token, refreshAt } = invocation.isOff('cache')
      ? fromIssued(await issue(), context.now())
      : await cachedCredential(context, server, identity, issue);
    // E-05: kubectl asks again only after the time it is told, to the second; so that is the time of the refresh.
    const expirationTimestamp = new Date(refreshAt).toISOString().replace(/\.\d+Z$/, 'Z');
    const credential = { kind: 'ExecCredential', apiVersion, spec: {}, status: { expirationTimestamp, token } };
    context.out.write(`${JSON.stringify(credential)}\n`);
    return undefined;
  } catch (error) {
    if (!isStatus(error, 401)) throw error;
    throw new CliError(`the login for ${server} is no longer good: run clusterpass login --server ${server}`);
  }
};

function accountOf(invocation: Invocation): { readonly namespace: string; readonly name: string } {
  const as = invocation.text('as');
  if (as !== undefined) return parseAccount(as, '--as');
  const namespace = invocation.required('namespace', '--as (or --namespace and --service-account)');
  const name = invocation.required('serviceAccount', '--as (or --namespace and --service-account)');
  return parseAccount(`${namespace}/${name}`, '--namespace and --service-account');
}

const GROUP = 'client.authentication.k8s.io';
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];

/** E-03: the answer must be of the version that was asked for. Without a question it is the current one. */
function askedVersion({ env }: Context): string {
  const text = env.KUBERNETES_EXEC_INFO;
  if (!text) return `${GROUP}/v1`;
  let asked: unknown;
  try {
    asked = (JSON.parse(text) as { apiVersion?: unknown } | null)?.apiVersion;
  } catch {
    throw new CliError('KUBERNETES_EXEC_INFO is not JSON');
  }
  if (typeof asked !== 'string' || !VERSIONS.includes(asked)) {
    throw new CliError(
      `KUBERNETES_EXEC_INFO asks for ${JSON.stringify(asked)}, and this program knows ${VERSIONS.join(' and ')}`,
    );
  }
  return asked;
}
