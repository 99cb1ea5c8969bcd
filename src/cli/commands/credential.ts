import { isDns1123Subdomain } from '../../api/names.ts';
import { ConnectionError, isStatus } from '../../client/errors.ts';
import { refreshTime } from '../../client/token-source.ts';
import { asJsonObject, parsedJson } from '../../lib/json.ts';
import { checkClusterName } from '../clusters.ts';
import { CliError, type Context, type Invocation, parseSeconds, type Run, UsageError } from '../command.ts';
import { clientFor, resolveConnection, tokenFor } from '../connection/connection.ts';
import {
  type CachedCredential,
  type CredentialSource,
  cachedCredential,
  credentialFile,
  deleteCredential,
} from '../connection/credential-cache.ts';
import { loginFor, readLogins } from '../connection/logins.ts';
import { type PassSubject, parseServiceAccount, passSubject } from '../service-account.ts';

/** Of the whole run: client-go sets no limit, and holds a lock while the plugin runs. */
const TIMEOUT_MS = 10_000;

/** An exec credential plugin of client-go: writes only an ExecCredential to stdout. */
export const run: Run = async (context, invocation) => {
  const signal = timeLimit();
  const info = readExecInfo(context.env.KUBERNETES_EXEC_INFO);
  const { apiVersion } = info;
  if (invocation.is('login')) return giveLogin(context, invocation, apiVersion, signal);
  const handle = handleOf(invocation);
  const { cluster, forServer } = clusterOf(invocation, info, handle);
  const subject = handle === undefined ? subjectOf(context, invocation) : 'pass';
  const audiences = handle === undefined ? audiencesOf(context, invocation) : [];
  const expirationSeconds = handle === undefined ? durationOf(context, invocation) : undefined;
  const group = invocation.text('group');
  const connection = await resolveConnection(context, invocation);
  const { server, tokenFile } = connection;
  const bearer = tokenFor(connection);
  const source: CredentialSource = {
    issue: async () => {
      const client = clientFor(context, connection);
      const shared = { forServer, expirationSeconds, signal: signal() };
      if (subject === 'pass')
        return client.redeemPass({ ...shared, handle: handle ?? '', codeVerifier: await proof() });
      return subject === 'me'
        ? client.createUserpass({ ...shared, cluster, group })
        : client.createToken({ ...shared, cluster, ...subject, audiences });
    },
    check: async (token) => {
      if (cluster === '') return 'unknown';
      const { checkAtCluster, checkAtServer } = await import('../connection/check-token.ts');
      const options = { env: context.env, signal: signal() };
      return isForServer(token, `/${connection.productName}/${cluster}`)
        ? checkAtServer(connection, cluster, token, options)
        : checkAtCluster(context.env.KUBERNETES_EXEC_INFO, token, options);
    },
  };
  try {
    const { token, refreshAt } = await (tokenFile === undefined ? cached() : issued());
    give(context, apiVersion, token, refreshAt);
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') throw new ConnectionError(`${server} cannot be reached: timed out`);
    if (!isStatus(error, 401)) throw error;
    if (tokenFile !== undefined) throw new CliError(`${server} refused the token in ${tokenFile}`);
    throw new CliError(`the server refused ${connection.tokenSource}`);
  }

  async function proof(): Promise<string | undefined> {
    const { readCodeVerifier } = await import('../connection/machine-key.ts');
    return readCodeVerifier(context, server);
  }

  async function cached(): Promise<Credential> {
    // The ID of a session stays the same when its token is refreshed.
    const caller = connection.sessionId ?? (await bearer());
    const what = handle === undefined ? [subject, audiences, expirationSeconds ?? null, group ?? null] : [handle];
    const identity = [caller, cluster, ...what, forServer ?? null];
    const file = credentialFile(context, server, identity, handle);
    if (!invocation.isOff('cache')) return cachedCredential(context, file, source);
    await deleteCredential(file);
    return issued();
  }

  /** A controller keeps its credentials in memory, and may have no disk to write to. */
  async function issued(): Promise<Credential> {
    const result = await source.issue();
    return { token: result.token, refreshAt: refreshTime(result, context.now()) };
  }
};

/** The signal of the end of the run. Made when it is needed: a cached token needs none. */
function timeLimit(): () => AbortSignal {
  let made: AbortSignal | undefined;
  return () => {
    made ??= AbortSignal.timeout(TIMEOUT_MS);
    return made;
  };
}

/** Clusterpass verifies a token that it has issued for the API of the cluster; any other one is for the cluster. */
export function isForServer(token: string, issuerPath: string): boolean {
  const claims = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();
  const { iss, aud } = asJsonObject(parsedJson(claims));
  return typeof iss === 'string' && iss.endsWith(issuerPath) && Array.isArray(aud) && aud.includes(iss);
}

type Credential = Pick<CachedCredential, 'token' | 'refreshAt'>;

/** The token of the login itself, for kubectl as a client of Clusterpass. Refreshed here, if it is of a session. */
async function giveLogin(
  context: Context,
  invocation: Invocation,
  apiVersion: string,
  signal: () => AbortSignal,
): Promise<void> {
  const { server, token, sessionId } = await resolveConnection(context, invocation);
  const text = await token?.(undefined, sessionId === undefined ? undefined : signal());
  if (text === undefined) throw new CliError(`not logged in to ${server}: run clusterpass login --server ${server}`);
  // kubectl keeps a credential until this time; without one, for as long as it runs.
  const session = sessionId === undefined ? undefined : loginFor(await readLogins(context), server)?.session;
  give(context, apiVersion, text, session?.refreshAt);
}

/** E-05: kubectl requests a new credential only after its expiry, to the second. So that is the time of the refresh. */
function give({ out }: Context, apiVersion: string, token: string, refreshAt: number | undefined): void {
  const time = refreshAt === undefined ? undefined : new Date(refreshAt).toISOString().replace(/\.\d+Z$/, 'Z');
  const status = { ...(time === undefined ? {} : { expirationTimestamp: time }), token };
  out.write(`${JSON.stringify({ kind: 'ExecCredential', apiVersion, spec: {}, status })}\n`);
}

/** The handle of a pass. It determines account, audience and duration of the token. */
function handleOf(invocation: Invocation): string | undefined {
  const handle = invocation.text('pass');
  if (handle === undefined) return undefined;
  const others = ['as', 'namespace', 'serviceAccount', 'duration', 'group'].some(
    (name) => invocation.text(name) !== undefined,
  );
  if (others || invocation.is('asMe') || invocation.list('audience').length > 0) {
    throw new UsageError('--pass determines account, audience and duration: do not set them');
  }
  if (isPathSafe(handle)) return handle;
  throw new UsageError(`--pass: ${JSON.stringify(handle)} is not the handle of a pass`);
}

/**
 * Keeps a handle from being another path or another file. The server checks the rest: the modules of its own pattern
 * would slow down each start of kubectl.
 */
const isPathSafe = (handle: string): boolean => /^[a-z0-9_]{1,253}$/.test(handle);

/** `--cluster` is the consumer's own configuration, so it comes before what a profile says (CP-97). */
function clusterOf(
  invocation: Invocation,
  { profile }: ExecInfo,
  handle: string | undefined,
): { cluster: string; forServer?: string } {
  const given = invocation.text('cluster');
  if (given !== undefined && given !== '') {
    checkClusterName(given, '--cluster');
    if (isDns1123Subdomain(given).length === 0) return { cluster: given };
    throw new UsageError(`--cluster: ${JSON.stringify(given)} is not the name of a cluster`);
  }
  if (profile !== undefined) return { cluster: profile.cluster, forServer: profile.server };
  if (handle !== undefined) return { cluster: '' };
  throw new UsageError('--cluster is required: KUBERNETES_EXEC_INFO has no spec.cluster.config.clusterName');
}

function subjectOf(context: Context, invocation: Invocation): PassSubject {
  const subject = passSubject(invocation);
  if (subject === 'me' && audiencesOf(context, invocation).length > 0) {
    throw new UsageError('--as-me takes no --audience: a pass for a person is for its cluster');
  }
  if (subject !== undefined) return subject;
  const { CLUSTERPASS_AS: as } = context.env;
  const isNamed = invocation.text('namespace') !== undefined || invocation.text('serviceAccount') !== undefined;
  if (!isNamed && as) return parseServiceAccount(as, 'CLUSTERPASS_AS');
  const namespace = invocation.required('namespace', '--as (or --namespace and --service-account)');
  const name = invocation.required('serviceAccount', '--as (or --namespace and --service-account)');
  return parseServiceAccount(`${namespace}/${name}`, '--namespace and --service-account');
}

function audiencesOf({ env }: Context, invocation: Invocation): readonly string[] {
  const given = invocation.list('audience');
  return given.length === 0 && env.CLUSTERPASS_AUDIENCE ? [env.CLUSTERPASS_AUDIENCE] : given;
}

function durationOf({ env }: Context, invocation: Invocation): number | undefined {
  const isGiven = invocation.text('duration') !== undefined || !env.CLUSTERPASS_DURATION;
  return isGiven ? invocation.seconds('duration') : parseSeconds(env.CLUSTERPASS_DURATION, 'CLUSTERPASS_DURATION');
}

const GROUP = 'client.authentication.k8s.io';
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];
const VARIABLE = 'KUBERNETES_EXEC_INFO';

/** The question of client-go to an exec plugin (CP-30, CP-31). */
export interface ExecInfo {
  /** E-03: the answer must have the version of the question. Without a question, v1. */
  readonly apiVersion: string;
  /** The cluster that a ClusterProfile names, and the address that the token will be sent to. */
  readonly profile: { readonly cluster: string; readonly server: string } | undefined;
}

export function readExecInfo(text: string | undefined): ExecInfo {
  if (!text) return { apiVersion: `${GROUP}/v1`, profile: undefined };
  const question = parsedJson(text);
  if (question === undefined) throw new UsageError(`${VARIABLE} is not JSON`);
  const { apiVersion, spec } = asJsonObject(question);
  if (typeof apiVersion !== 'string' || !VERSIONS.includes(apiVersion)) {
    const requested = typeof apiVersion === 'string' ? JSON.stringify(apiVersion) : 'no version';
    throw new UsageError(`${VARIABLE} requests ${requested}; supported are ${VERSIONS.join(' and ')}`);
  }
  return { apiVersion, profile: profileIn(asJsonObject(asJsonObject(spec).cluster)) };
}

/**
 * CP-97: of the configuration that a profile carries, only the name of the cluster counts. Who can write profiles must
 * not choose the server that this program sends its own credential to, nor the account.
 */
function profileIn({ server, config }: Record<string, unknown>): ExecInfo['profile'] {
  const { clusterName } = asJsonObject(config);
  if (clusterName === undefined) return undefined;
  if (typeof clusterName !== 'string' || isDns1123Subdomain(clusterName).length > 0) {
    throw new UsageError(`${VARIABLE}: spec.cluster.config.clusterName is not the name of a cluster`);
  }
  if (typeof server !== 'string' || server === '') throw new UsageError(`${VARIABLE}: spec.cluster.server is missing`);
  return { cluster: clusterName, server };
}
