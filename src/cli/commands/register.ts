import { resolve } from 'node:path';
import { distributionOf } from '../../api/distribution.ts';
import type { ApiObject } from '../../api/kind.ts';
import { CLUSTER_GROUP, endpointsField } from '../../api/kinds/cluster.ts';
import { type Client, createClient } from '../../client/create-client.ts';
import { FULL_CLUSTERS } from '../../client/list-clusters.ts';
import { createNodeFetch } from '../../client/node.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { isDryRun } from '../dry-run.ts';
import { kubeconfigFile } from '../files/folders.ts';
import { type KubeconfigContext, readContext } from '../kubeconfig/kubeconfig-context.ts';
import { printable } from '../output/terminal-safe.ts';
import { whileWaiting } from '../progress.ts';

/** Everyone: an address that only some may use has to be said to be so. */
const ALL_NETWORKS = ['0.0.0.0/0', '::/0'];

const ID_ANNOTATION = 'clusterpass.dev/cluster-id';

/** Adds a cluster by what a kubeconfig says about it, once it has answered there. */
export const run: Run = async (context, invocation) => {
  const name = invocation.args[0] ?? '';
  const dryRun = isDryRun(invocation);
  const file = invocation.text('kubeconfig') ?? kubeconfigFile(context.env);
  const found = await readContext(resolve(context.cwd, file), invocation.text('context'));
  const client = await connect(context, invocation);
  const answers = invocation.is('offline') ? undefined : await askCluster(context, found);
  const version = answers?.version;
  const given = invocation.list('clientCidr');
  const cluster: ApiObject = {
    apiVersion: `${CLUSTER_GROUP}/v1alpha1`,
    kind: 'Cluster',
    metadata: {
      name,
      labels: labelsFrom(invocation),
      ...(answers?.id === undefined ? {} : { annotations: { [ID_ANNOTATION]: answers.id } }),
    },
    spec: {
      [endpointsField(client.productName)]: {
        serverEndpoints: (given.length > 0 ? given : ALL_NETWORKS).map((clientCIDR) => ({
          clientCIDR,
          serverAddress: found.server,
        })),
        ...(found.ca === undefined ? {} : { caBundle: Buffer.from(found.ca).toString('base64') }),
      },
    },
  };
  const query = { fieldManager: 'clusterpass', fieldValidation: 'Strict', ...(dryRun ? { dryRun: 'All' } : {}) };
  await client.request('POST', FULL_CLUSTERS, { query, body: cluster });
  if (version !== undefined && !dryRun) {
    const body = { status: { version, type: distributionOf(version) } };
    const contentType = 'application/merge-patch+json';
    try {
      await client.request('PATCH', `${FULL_CLUSTERS}/${encodeURIComponent(name)}/status`, { body, contentType });
    } catch (error) {
      // The cluster is there; who may create clusters may lack the permission to write their status.
      warn(context, `the version of ${name} was not stored: ${(error as Error).message}`);
    }
  }
  announce(context, name, version, dryRun);
  return undefined;
};

function announce({ out }: Context, name: string, version: string | undefined, dryRun: boolean): void {
  const runs = version === undefined ? '' : `, which runs ${printable(version)}`;
  out.write(`cluster.${CLUSTER_GROUP}/${name} created${dryRun ? ' (server dry run)' : runs}\n`);
}

const warn = ({ err }: Context, text: string): void => err.write(`Warning: ${printable(text)}\n`);

interface Answers {
  readonly version: string;
  readonly id: string | undefined;
}

/** Two questions, over a connection that trusts exactly what will be registered. */
async function askCluster(context: Context, found: KubeconfigContext): Promise<Answers> {
  const { server, ca, cert, key, tlsServerName, insecureSkipTlsVerify, token } = found;
  const fetch = createNodeFetch({
    insecureSkipTlsVerify,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
  });
  const client = createClient({
    server,
    ...(token === undefined ? {} : { token }),
    fetch: whileWaiting(context, server, fetch),
  });
  const version = await askVersion(client);
  return { version, id: await askIdentity(context, client) };
}

async function askVersion(client: Client): Promise<string> {
  try {
    const { gitVersion } = (await client.request<{ gitVersion?: unknown }>('GET', '/version')).value;
    if (typeof gitVersion !== 'string') throw new Error('it tells no version');
    return gitVersion;
  } catch (error) {
    throw new CliError(
      `the cluster does not answer as one: ${printable((error as Error).message)} (--offline registers it all the same)`,
    );
  }
}

/** A cluster has no name of its own; this namespace lives as long as it does, and its UID is there only once. */
async function askIdentity(context: Context, client: Client): Promise<string | undefined> {
  try {
    const path = '/api/v1/namespaces/kube-system';
    const { metadata } = (await client.request<{ metadata?: { uid?: unknown } }>('GET', path)).value;
    const uid = metadata?.uid;
    if (typeof uid !== 'string' || !/^[\w.-]{1,128}$/.test(uid)) throw new Error('it has no UID');
    return uid;
  } catch (error) {
    warn(context, `the identity of the cluster (namespace kube-system) is not known: ${(error as Error).message}`);
    return undefined;
  }
}

function labelsFrom(invocation: Invocation): Record<string, string> {
  return Object.fromEntries(
    invocation.list('label').map((label) => {
      const sign = label.indexOf('=');
      if (sign <= 0) throw new CliError(`--label: ${JSON.stringify(label)} is not key=value`);
      return [label.slice(0, sign), label.slice(sign + 1)];
    }),
  );
}
