import { resolve } from 'node:path';
import { type TokenProvider, Transport, type TransportOptions } from '../../client/transport.ts';
import { realTiming } from '../../lib/backoff.ts';
import { CliError, type Context, type Invocation } from '../command.ts';
import { type Connection, clientOptions } from '../connection/connection.ts';
import { fetchFor, requireHttps } from '../connection/fetch-for.ts';
import { kubeconfigFile, readGivenFile } from '../files/files.ts';
import { type KubeconfigContext, readContext } from '../kubeconfig/kubeconfig-context.ts';

/** Where a pod finds the credentials of its service account. */
export const POD_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface ClusterConnection {
  readonly server: string;
  /** PEM; undefined: the system CAs. */
  readonly ca: string | undefined;
  /** Whether this is the cluster of the pod, at an address that only pods reach. */
  readonly isInPod: boolean;
  readonly transport: Transport;
}

/** The address of the API server, in a Pod that has no kubeconfig. It is the same in many clusters. */
export function podServerOf({ env }: Pick<Context, 'env'>, invocation: Invocation): string | undefined {
  const isGiven = invocation.text('kubeconfig') !== undefined || invocation.text('context') !== undefined;
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443', KUBECONFIG } = env;
  if (isGiven || KUBECONFIG || !host) return undefined;
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The cluster of `--kubeconfig` and `--context`, e.g. a hub; in a pod without them, the cluster of the pod. */
export async function connectCluster(context: Context, invocation: Invocation): Promise<ClusterConnection> {
  const podServer = podServerOf(context, invocation);
  if (podServer !== undefined) return podCluster(context, podServer);
  const file = resolve(context.cwd, invocation.text('kubeconfig') ?? kubeconfigFile(context.env));
  const read = (): Promise<KubeconfigContext> => readContext(file, invocation.text('context'));
  const config = await read();
  if (config.token === undefined && (config.cert === undefined || config.key === undefined)) {
    throw new CliError(
      `the user in ${file} has neither a token (token, tokenFile) nor a client certificate; exec plugins are not ` +
        'supported: create a kubeconfig with a token (kubectl create token), or run the command in a Pod of the cluster',
    );
  }
  requireHttps(config.server, { name: "the cluster's address" });
  let token = config.token;
  const provider: TokenProvider = async (refused) => {
    // The file of the token may have a new one.
    if (refused !== undefined) token = (await read()).token;
    return token ?? '';
  };
  const configSource = `context ${JSON.stringify(config.name)} of ${file}`;
  return {
    ...connectionAt(context, config, configSource, config.token === undefined ? undefined : provider),
    isInPod: false,
  };
}

async function podCluster(context: Context, server: string): Promise<ClusterConnection> {
  const ca = await readGivenFile(`${POD_FOLDER}/ca.crt`);
  // The kubelet replaces the file before the token expires.
  const provider: TokenProvider = async () => (await readGivenFile(`${POD_FOLDER}/token`)).trim();
  const configSource = 'the cluster of this Pod';
  // No proxy is between a Pod and its own cluster.
  const direct = { ...context, env: {} };
  return {
    ...connectionAt(direct, { server, ca, insecureSkipTlsVerify: false }, configSource, provider),
    isInPod: true,
  };
}

type TlsPart = Pick<KubeconfigContext, 'server' | 'ca' | 'insecureSkipTlsVerify'> & Partial<KubeconfigContext>;

function connectionAt(
  context: Context,
  config: TlsPart,
  configSource: string,
  tokenProvider: TokenProvider | undefined,
): Omit<ClusterConnection, 'isInPod'> {
  const { server, ca } = config;
  const fetch = fetchFor({ ...config, certificateAuthority: ca }, context.env);
  const transport = new Transport({
    server,
    configSource,
    tokenProvider,
    fetch,
    userAgent: `clusterpass/${context.version}`,
    onWarning: undefined,
    timing: realTiming,
  });
  return { server, ca, transport };
}

/** Clusterpass as one of the sides. `more`: in place of the token of the connection. */
export function connectServer(context: Context, connection: Connection, more?: Partial<TransportOptions>): Transport {
  const options = { ...clientOptions(context, connection), timing: realTiming };
  return new Transport({ ...options, ...more });
}
