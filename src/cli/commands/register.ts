import { resolve } from 'node:path';
import { clusterObject } from '../../api/clusters/cluster-object.ts';
import {
  CONFIRMED_ANNOTATION,
  endpointDigest,
  endpointsInForce,
  sameEndpoints,
  writtenEndpoints,
} from '../../api/clusters/confirmed-endpoint.ts';
import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject } from '../../api/kind.ts';
import {
  type ApiEndpoints,
  CLUSTER_GROUP,
  controllerOf,
  endpointsField,
  type ServerEndpoint,
} from '../../api/kinds/cluster-spec.ts';
import { distributionOf } from '../../api/kubernetes-support.ts';
import { type Client, createClient } from '../../client/create-client.ts';
import { isStatus } from '../../client/errors.ts';
import { FULL_CLUSTERS } from '../../client/list-clusters.ts';
import type { Cluster } from '../../client/types.ts';
import { terminalSafe } from '../../lib/text.ts';
import { readIdentity } from '../cluster-identity.ts';
import { clusterPath, getCluster, isPublicView } from '../clusters.ts';
import { CliError, type Context, isDryRun, noteOf, type Run, writeQuery } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { fetchFor, requireHttps } from '../connection/fetch-for.ts';
import { kubeconfigFile } from '../files/files.ts';
import { certificatesIn } from '../kubeconfig/endpoint-change.ts';
import { type KubeconfigContext, readContext } from '../kubeconfig/kubeconfig-context.ts';
import { renderTable } from '../output/printer.ts';
import { fetchWithProgress } from '../progress.ts';
import { whatIsLeft } from './describe-cluster.ts';

/** Creates a cluster from a context of a kubeconfig, or changes it, after the cluster has answered at that address. */
export const register: Run = async (context, invocation) => {
  const name = invocation.args[0] ?? '';
  const dryRun = isDryRun(invocation);
  const file = invocation.text('kubeconfig') ?? kubeconfigFile(context.env);
  const source = await readContext(resolve(context.cwd, file), invocation.text('context'));
  const client = await connect(context, invocation);
  const { version, id } = invocation.is('offline') ? {} : await inspectCluster(context, source);
  const networks = invocation.list('clientCidr');
  const drafted = clusterObject({
    name,
    labels: invocation.labels('label'),
    annotations: id === undefined ? undefined : { [CLUSTER_ID_ANNOTATION]: id },
    addresses: [source.server],
    networks,
    caBundle: source.ca === undefined ? undefined : Buffer.from(source.ca).toString('base64'),
    productName: client.productName,
  });
  const query = { ...writeQuery(invocation), fieldValidation: 'Strict' };
  let done = 'created';
  if (invocation.is('update')) done = await updateEndpoints(context, client, drafted, query, networks.length > 0);
  else await client.request('POST', FULL_CLUSTERS, { query, body: drafted });
  if (version !== undefined && !dryRun) {
    const body = { status: { version, type: distributionOf(version) } };
    try {
      await client.request('PATCH', `${clusterPath(name)}/status`, { body, contentType: MERGE_PATCH });
    } catch (error) {
      // The cluster exists; the user may lack the permission to update its status.
      const why = terminalSafe((error as Error).message);
      context.err.write(`Warning: the version of ${name} was not stored: ${why}\n`);
    }
  }
  const left = dryRun
    ? ''
    : await whatIsLeft(client, name).catch((error: Error) => `Warning: ${terminalSafe(error.message)}\n`);
  const versionNote = version === undefined ? '' : `, which runs ${terminalSafe(version)}`;
  context.out.write(`cluster.${CLUSTER_GROUP}/${name} ${done}${dryRun ? noteOf(invocation) : versionNote}\n`);
  context.err.write(left);
};

const MERGE_PATCH = 'application/merge-patch+json';

/** Prints the change after a dry run at the server, and writes it; once more if a probe has written meanwhile. */
export async function updateEndpoints(
  { out }: Pick<Context, 'out'>,
  client: Client,
  drafted: ApiObject,
  query: ReturnType<typeof writeQuery>,
  isNetworkGiven: boolean,
  isRepeated = false,
): Promise<string> {
  const { spec, metadata } = drafted;
  const { name = '', annotations = {} } = metadata;
  const cluster = await getCluster(client, name);
  const { resourceVersion, annotations: registered = {} } = cluster.metadata;
  const ids = [registered, annotations].map((each) => each[CLUSTER_ID_ANNOTATION]);
  if (ids[0] !== undefined && ids[1] !== undefined && ids[0] !== ids[1]) {
    throw new CliError(
      `this is another cluster: its identity is ${ids[1]}, that of the registered one ${ids[0]}; register it under another name`,
    );
  }
  const { productName } = client;
  const before = writtenEndpoints(cluster, productName);
  const wanted = writtenEndpoints({ ...cluster, spec }, productName);
  const serverEndpoints = withAddress(before.serverEndpoints ?? [], wanted.serverEndpoints ?? [], isNetworkGiven);
  const after = { ...wanted, serverEndpoints };
  if (sameEndpoints(before, after)) return 'unchanged';
  const body = {
    metadata: { resourceVersion, annotations },
    spec: { [endpointsField(productName)]: { ...after, caBundle: after.caBundle ?? null } },
  };
  const write = (dryRun: object) =>
    client.request('PATCH', clusterPath(name), { query: { ...query, ...dryRun }, body, contentType: MERGE_PATCH });
  const rows = [...endpointRows(before, 'Until now:', 'CA until now:'), ...endpointRows(after, 'Address:', 'CA:')];
  try {
    await write({ dryRun: 'All' });
    out.write(renderTable(rows));
    await write({});
  } catch (error) {
    if (isRepeated || !isStatus(error, 409)) throw error;
    return updateEndpoints({ out }, client, drafted, query, isNetworkGiven, true);
  }
  return 'updated';
}

/**
 * The new address for the networks of `--client-cidr`; without the flag for those of the only address, else for all
 * networks. The first endpoint that holds a client counts, so a network that is new comes first.
 */
export function withAddress(
  present: readonly ServerEndpoint[],
  wanted: readonly ServerEndpoint[],
  isNetworkGiven: boolean,
): ServerEndpoint[] {
  const [{ serverAddress = '' } = {}] = wanted;
  if (!isNetworkGiven && new Set(present.map((each) => each.serverAddress)).size === 1) {
    return present.map((each) => ({ ...each, serverAddress }));
  }
  const isOf =
    ({ clientCIDR }: ServerEndpoint) =>
    (each: ServerEndpoint) =>
      each.clientCIDR === clientCIDR;
  const added = wanted.filter((each) => !present.some(isOf(each)));
  if (!isNetworkGiven && present.length > 0 && added.length > 0) {
    throw new CliError('the cluster has several addresses: name the networks of this one with --client-cidr');
  }
  return [...added, ...present.map((each) => wanted.find(isOf(each)) ?? each)];
}

/** Reads version and identity over a connection that trusts exactly the CA that will be registered. */
async function inspectCluster(context: Context, source: KubeconfigContext) {
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

/** Prints the endpoints and the CA of a cluster, what they replace and the credential sent there, and confirms them. */
export const confirm: Run = async (context, invocation) => {
  const name = invocation.args[0] ?? '';
  const client = await connect(context, invocation);
  const cluster = await getCluster(client, name);
  // A public view hides the change that waits and the credential, and both are part of what is confirmed.
  if (isPublicView(cluster)) {
    throw new CliError(
      `you may not see the whole cluster ${JSON.stringify(name)}, with a change that waits: it takes permission to update it`,
    );
  }
  const digest = endpointDigest(cluster, client.productName);
  if (invocation.is('print')) {
    context.out.write(`${digest}\n`);
    return;
  }
  context.out.write(renderTable(factsOf(cluster, client.productName)));
  await confirmEndpoints(client, cluster, writeQuery(invocation));
  context.out.write(`cluster.${CLUSTER_GROUP}/${name} confirmed${noteOf(invocation)}\n`);
};

/** Fails if what is confirmed has changed since the cluster was read. Its status may: the prober writes it. */
export async function confirmEndpoints(
  client: Client,
  cluster: Cluster,
  query: Partial<ReturnType<typeof writeQuery>>,
): Promise<void> {
  const { name, resourceVersion } = cluster.metadata;
  const digest = endpointDigest(cluster, client.productName);
  const body = { metadata: { resourceVersion, annotations: { [CONFIRMED_ANNOTATION]: digest } } };
  try {
    await client.request('PATCH', clusterPath(name), { query, body, contentType: MERGE_PATCH });
  } catch (error) {
    if (!isStatus(error, 409)) throw error;
    const changed = await getCluster(client, name);
    if (endpointDigest(changed, client.productName) !== digest) throw error;
    await confirmEndpoints(client, changed, query);
  }
}

function factsOf(cluster: Cluster, productName: string): string[][] {
  const controller = controllerOf(cluster);
  const written = writtenEndpoints(cluster, productName);
  const inForce = endpointsInForce(cluster, productName);
  return [
    ...(controller === undefined ? [] : [['Credential:', `${controller.namespace}/${controller.name}`]]),
    ...(inForce === written ? [] : endpointRows(inForce, 'Until now:', 'CA until now:')),
    ...endpointRows(written, controller === undefined ? 'Address:' : 'Sent to:', 'CA:'),
  ];
}

/** The endpoints as rows of a table, with the fingerprints of the CAs. */
function endpointRows({ serverEndpoints = [], caBundle = '' }: ApiEndpoints, title: string, ca: string): string[][] {
  const addresses = serverEndpoints.map(
    ({ serverAddress = '', clientCIDR = '' }) =>
      `${serverAddress}${clientCIDR === '' ? '' : `, for clients in ${clientCIDR}`}`,
  );
  const titled = (name: string, texts: readonly string[]): string[][] =>
    (texts.length === 0 ? ['<none>'] : texts).map((text, index) => [index === 0 ? name : '', text]);
  return [...titled(title, addresses), ...titled(ca, certificatesIn(caBundle))];
}
