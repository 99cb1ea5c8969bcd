import { isStatus } from '../../client/errors.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { checkAtCluster, checkAtServer } from '../connection/check-token.ts';
import { clientFor, resolveConnection } from '../connection/connection.ts';
import { type CredentialSource, cachedCredential } from '../connection/credential-cache.ts';
import { loginFor, readLogins } from '../connection/logins.ts';
import { type PassSubject, parseServiceAccount, passSubject } from '../service-account.ts';

/** An exec credential plugin of client-go: writes only an ExecCredential to stdout. */
export const run: Run = async (context, invocation) => {
  const apiVersion = requestedVersion(context);
  if (invocation.is('login')) return giveLogin(context, invocation, apiVersion);
  const cluster = invocation.required('cluster', '--cluster');
  const subject = subjectOf(invocation);
  const audiences = invocation.list('audience');
  const expirationSeconds = invocation.seconds('duration', '--duration');
  const connection = await resolveConnection(context, invocation);
  const { server } = connection;
  const client = await clientFor(context, connection);
  const source: CredentialSource = {
    issue: () =>
      subject === 'me'
        ? client.createUserpass({ cluster, ...(expirationSeconds === undefined ? {} : { expirationSeconds }) })
        : client.createToken({
            cluster,
            ...subject,
            audiences,
            ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
          }),
    check: async (token, verifier) => {
      if (verifier === 'none') return 'unknown';
      // Clusterpass refuses passes for people as bearer tokens: only the cluster can say whether it accepts one.
      return verifier === 'server' && subject !== 'me'
        ? checkAtServer(connection, cluster, token)
        : checkAtCluster(context.env.KUBERNETES_EXEC_INFO, token);
    },
  };
  // The ID of a session stays the same when its token is refreshed.
  const caller = connection.sessionId ?? (await connection.token?.()) ?? '';
  const identity = [caller, cluster, subject, audiences, expirationSeconds ?? null];
  try {
    const replace = invocation.isOff('cache');
    const { token, refreshAt } = await cachedCredential(context, server, identity, source, { replace });
    // E-05: kubectl requests a new credential only after this time, to the second. So it is the time of the refresh.
    const expirationTimestamp = utcText(refreshAt);
    const credential = { kind: 'ExecCredential', apiVersion, spec: {}, status: { expirationTimestamp, token } };
    context.out.write(`${JSON.stringify(credential)}\n`);
    return undefined;
  } catch (error) {
    if (!isStatus(error, 401)) throw error;
    throw new CliError(`the server refused the login for ${server}: run clusterpass login --server ${server}`);
  }
};

/** The token of the login itself, for kubectl as a client of Clusterpass. Refreshed here, if it is of a session. */
async function giveLogin(context: Context, invocation: Invocation, apiVersion: string): Promise<undefined> {
  const { server, token, sessionId } = await resolveConnection(context, invocation);
  const text = await token?.();
  if (text === undefined) throw new CliError(`not logged in to ${server}: run clusterpass login --server ${server}`);
  // kubectl keeps a credential until this time; without one, for as long as it runs.
  const session = sessionId === undefined ? undefined : loginFor(await readLogins(context), server)?.session;
  const expiry = session === undefined ? {} : { expirationTimestamp: utcText(session.refreshAt) };
  const credential = { kind: 'ExecCredential', apiVersion, spec: {}, status: { ...expiry, token: text } };
  context.out.write(`${JSON.stringify(credential)}\n`);
  return undefined;
}

/** To the second. */
const utcText = (milliseconds: number): string => new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z');

function subjectOf(invocation: Invocation): PassSubject {
  const subject = passSubject(invocation);
  if (subject === 'me' && invocation.list('audience').length > 0) {
    throw new CliError('--as-me takes no --audience: a pass for a person is for its cluster');
  }
  if (subject !== undefined) return subject;
  const namespace = invocation.required('namespace', '--as (or --namespace and --service-account)');
  const name = invocation.required('serviceAccount', '--as (or --namespace and --service-account)');
  return parseServiceAccount(`${namespace}/${name}`, '--namespace and --service-account');
}

const GROUP = 'client.authentication.k8s.io';
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];

/** E-03: the response must have the version of the request. Without a request, v1. */
function requestedVersion({ env }: Context): string {
  const text = env.KUBERNETES_EXEC_INFO;
  if (!text) return `${GROUP}/v1`;
  let requested: unknown;
  try {
    requested = (JSON.parse(text) as { apiVersion?: unknown } | null)?.apiVersion;
  } catch {
    throw new CliError('KUBERNETES_EXEC_INFO is not JSON');
  }
  if (typeof requested !== 'string' || !VERSIONS.includes(requested)) {
    throw new CliError(
      `KUBERNETES_EXEC_INFO requests ${JSON.stringify(requested)}; supported are ${VERSIONS.join(' and ')}`,
    );
  }
  return requested;
}
