import { resolve } from 'node:path';
import type { ApiObject } from '../api/kind.ts';
import { CLUSTER_GROUP, endpointsField } from '../api/kinds/cluster.ts';
import { createClient } from '../client/create-client.ts';
import { FULL_CLUSTERS } from '../client/list-clusters.ts';
import { createNodeFetch } from '../client/node.ts';
import { CliError, type Context, type Invocation, type Run } from './command.ts';
import { connect } from './connection.ts';
import { isDryRun } from './dry-run.ts';
import { kubeconfigFile } from './folders.ts';
import { type KubeconfigContext, readContext } from './kubeconfig-context.ts';
import { printable } from './printable.ts';

/** Everyone: an address that only some may use has to be said to be so. */
const ALL_NETWORKS = ['0.0.0.0/0', '::/0'];

/** Adds a cluster by what a kubeconfig says about it, once it has answered there. */
export const run: Run = async (context, invocation) => {
  const name = invocation.args[0] ?? '';
  const dryRun = isDryRun(invocation);
  const file = invocation.text('kubeconfig') ?? kubeconfigFile(context.env);
  const found = await readContext(resolve(context.cwd, file), invocation.text('context'));
  const client = await connect(context, invocation);
  const version = invocation.is('offline') ? undefined : await askVersion(found);
  const given = invocation.list('clientCidr');
  const cluster: ApiObject = {
    apiVersion: `${CLUSTER_GROUP}/v1alpha1`,
    kind: 'Cluster',
    metadata: { name, labels: labelsFrom(invocation) },
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
    const body = { status: { version, type: typeOf(version) } };
    const contentType = 'application/merge-patch+json';
    await client.request('PATCH', `${FULL_CLUSTERS}/${encodeURIComponent(name)}/status`, { body, contentType });
  }
  announce(context, name, version, dryRun);
  return undefined;
};

function announce({ out }: Context, name: string, version: string | undefined, dryRun: boolean): void {
  const runs = version === undefined ? '' : `, which runs ${printable(version)}`;
  out.write(`cluster.${CLUSTER_GROUP}/${name} created${dryRun ? ' (server dry run)' : runs}\n`);
}

/** One question, over a connection that trusts exactly what will be registered. */
async function askVersion(found: KubeconfigContext): Promise<string> {
  const { server, ca, cert, key, tlsServerName, insecureSkipTlsVerify, token } = found;
  const client = createClient({
    server,
    ...(token === undefined ? {} : { token }),
    fetch: createNodeFetch({
      insecureSkipTlsVerify,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
      ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
    }),
  });
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

/** Distributions put their names into the version: `v1.36.4-eks-1a2b3c`, `v1.36.4+k3s1`. */
const TYPES: readonly (readonly [RegExp, string])[] = [
  [/-eks-/, 'EKS'],
  [/-gke\./, 'GKE'],
  [/\+k3s/, 'k3s'],
  [/\+rke2/, 'RKE2'],
];

const typeOf = (version: string): string => TYPES.find(([pattern]) => pattern.test(version))?.[1] ?? 'Kubernetes';

function labelsFrom(invocation: Invocation): Record<string, string> {
  return Object.fromEntries(
    invocation.list('label').map((label) => {
      const sign = label.indexOf('=');
      if (sign <= 0) throw new CliError(`--label: ${JSON.stringify(label)} is not key=value`);
      return [label.slice(0, sign), label.slice(sign + 1)];
    }),
  );
}
