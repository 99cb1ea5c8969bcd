import { resolve } from 'node:path';
import { bootstrapTokenId } from '../../api/bootstrap-credential.ts';
import { clusterObject } from '../../api/clusters/cluster-object.ts';
import { CONNECTOR_ANNOTATION, type ConnectorClaim } from '../../api/connector.ts';
import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { type ClusterAddress, onlyAddress } from '../../api/kubeconfig.ts';
import { isStatus } from '../../client/errors.ts';
import { JWKS_TYPE } from '../../connector/cluster-findings.ts';
import { CliError, type Context, type Invocation } from '../command.ts';
import type { Connection } from '../connection/connection.ts';
import { readGivenFile } from '../files/files.ts';
import { type ClusterConnection, connectServer } from './cluster-connection.ts';

interface RegisterParts {
  readonly source: ClusterConnection;
  readonly connection: Connection;
  readonly cluster: string;
  readonly productName: string;
  /** The UID of the namespace kube-system. */
  readonly id: string;
  readonly claim: Omit<ConnectorClaim, 'keys'>;
  readonly signal: AbortSignal;
}

/** Registers a cluster from inside, with a bootstrap token. Repeated with the same token, it changes nothing. */
export async function registerCluster(
  context: Context,
  invocation: Invocation,
  { source, connection, cluster: name, productName, id, claim, signal }: RegisterParts,
): Promise<string> {
  const token = await bootstrapTokenOf(context, invocation);
  const options = { expects: 'unchecked', accept: JWKS_TYPE, signal } as const;
  const { value: keys } = await source.transport.request<unknown>('GET', '/openid/v1/jwks', options);
  const address = await addressOf(source, invocation);
  const complete: ConnectorClaim = { ...claim, keys };
  const body = clusterObject({
    name,
    annotations: { [CLUSTER_ID_ANNOTATION]: id, [CONNECTOR_ANNOTATION]: JSON.stringify(complete) },
    addresses: address === undefined ? [] : [address.server],
    networks: invocation.list('clientCidr'),
    caBundle: address?.caBundle,
    productName,
  });
  const path = `/apis/clusterpass.dev/v1alpha1/bootstraptokens/${bootstrapTokenId(token)}/cluster`;
  const query = { fieldValidation: 'Strict' };
  const given = { credentialSource: 'the bootstrap token', tokenProvider: () => token };
  const { code } = await connectServer(context, connection, given).request('POST', path, { query, body, signal });
  const where = address === undefined ? 'without an address' : `at ${address.server}`;
  if (code === 201) return `cluster.${CLUSTER_GROUP}/${name} is registered ${where}`;
  const advice = 'if its Connector is of another account, delete that and create another bootstrap token';
  return `cluster.${CLUSTER_GROUP}/${name} is registered already; ${advice}`;
}

async function bootstrapTokenOf({ cwd }: Context, invocation: Invocation): Promise<string> {
  const file = invocation.text('bootstrapTokenFile');
  if (file === undefined) throw new CliError('Clusterpass does not know this connector: set --bootstrap-token-file');
  const token = (await readGivenFile(resolve(cwd, file))).trim();
  if (bootstrapTokenId(token) !== undefined) return token;
  throw new CliError(`${file} has no bootstrap token, which begins with cpbt_: clusterpass create bootstrap-token`);
}

/** Address and CA for clients outside of the cluster; undefined for a cluster that none of them reaches. */
async function addressOf(source: ClusterConnection, invocation: Invocation): Promise<ClusterAddress | undefined> {
  const given = invocation.text('address');
  const caBundle = source.ca === undefined ? undefined : Buffer.from(source.ca).toString('base64');
  const own = { server: given ?? source.server, caBundle };
  const found = given === undefined && source.isInPod ? await publishedAddress(source) : own;
  return found && invocation.is('withoutCa') ? { ...found, caBundle: undefined } : found;
}

/** A pod reaches its API server at an address that no client outside reaches. kubeadm publishes the other one. */
async function publishedAddress({ transport }: ClusterConnection): Promise<ClusterAddress | undefined> {
  const path = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
  try {
    const { data } = (await transport.request<{ data?: { kubeconfig?: unknown } }>('GET', path)).value;
    return typeof data?.kubeconfig === 'string' ? onlyAddress(data.kubeconfig) : undefined;
  } catch (error) {
    if (!isStatus(error, 403) && !isStatus(error, 404)) throw error;
    return undefined;
  }
}
