import { resolve } from 'node:path';
import { clusterObject } from '../../api/clusters/cluster-object.ts';
import { distributionOf } from '../../api/clusters/distribution.ts';
import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { type Client, createClient } from '../../client/create-client.ts';
import { FULL_CLUSTERS } from '../../client/list-clusters.ts';
import { terminalSafe } from '../../lib/text.ts';
import { readIdentity } from '../cluster-identity.ts';
import { clusterPath } from '../clusters.ts';
import { CliError, type Context, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { fetchFor } from '../connection/fetch-for.ts';
import { requireHttps } from '../connection/require-https.ts';
import { isDryRun, noteOf, writeQuery } from '../dry-run.ts';
import { kubeconfigFile } from '../files/folders.ts';
import { type KubeconfigContext, readContext } from '../kubeconfig/kubeconfig-context.ts';
import { labelsFrom } from '../labels.ts';
import { fetchWithProgress } from '../progress.ts';

/** Creates a cluster from a context of a kubeconfig, after the cluster has answered at that address. */
export const run: Run = async (context, invocation) => {
  const name = invocation.args[0] ?? '';
  const dryRun = isDryRun(invocation);
  const file = invocation.text('kubeconfig') ?? kubeconfigFile(context.env);
  const source = await readContext(resolve(context.cwd, file), invocation.text('context'));
  const client = await connect(context, invocation);
  const { version, id } = invocation.is('offline') ? {} : await inspectCluster(context, source);
  const cluster = clusterObject({
    name,
    labels: labelsFrom(invocation, '--label'),
    annotations: id === undefined ? undefined : { [CLUSTER_ID_ANNOTATION]: id },
    addresses: [source.server],
    networks: invocation.list('clientCidr'),
    caBundle: source.ca === undefined ? undefined : Buffer.from(source.ca).toString('base64'),
    productName: client.productName,
  });
  const query = { ...writeQuery(invocation), fieldValidation: 'Strict' };
  await client.request('POST', FULL_CLUSTERS, { query, body: cluster });
  if (version !== undefined && !dryRun) {
    const body = { status: { version, type: distributionOf(version) } };
    const contentType = 'application/merge-patch+json';
    try {
      await client.request('PATCH', `${clusterPath(name)}/status`, { body, contentType });
    } catch (error) {
      // The cluster exists; the user may lack the permission to update its status.
      warn(context, `the version of ${name} was not stored: ${(error as Error).message}`);
    }
  }
  const versionNote = version === undefined ? '' : `, which runs ${terminalSafe(version)}`;
  context.out.write(`cluster.${CLUSTER_GROUP}/${name} created${dryRun ? noteOf(invocation) : versionNote}\n`);
  return undefined;
};

const warn = ({ err }: Context, text: string): void => err.write(`Warning: ${terminalSafe(text)}\n`);

interface ClusterFacts {
  readonly version?: string;
  readonly id?: string | undefined;
}

/** Reads version and identity over a connection that trusts exactly the CA that will be registered. */
async function inspectCluster(context: Context, source: KubeconfigContext): Promise<ClusterFacts> {
  const { server, token } = source;
  requireHttps(server, { name: "the cluster's address" });
  const fetch = fetchFor({ ...source, certificateAuthority: source.ca }, context.env);
  const client = createClient({
    server,
    ...(token === undefined ? {} : { token }),
    fetch: fetchWithProgress(context, server, fetch),
  });
  const version = await readVersion(client);
  return { version, id: await readIdentity(context, client) };
}

async function readVersion(client: Client): Promise<string> {
  try {
    const { gitVersion } = (await client.request<{ gitVersion?: unknown }>('GET', '/version')).value;
    if (typeof gitVersion !== 'string') throw new Error('/version has no gitVersion');
    return gitVersion;
  } catch (error) {
    throw new CliError(
      `cannot read the version of the cluster: ${terminalSafe((error as Error).message)} (use --offline to register it anyway)`,
    );
  }
}
