import { randomBytes, randomInt } from 'node:crypto';
import { bootstrapToken, bootstrapTokenDigest, bootstrapTokenId } from '../../api/bootstrap-credential.ts';
import { clusterObject } from '../../api/clusters/cluster-object.ts';
import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject } from '../../api/kind.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { type ClusterAddress, onlyAddress } from '../../api/kubeconfig.ts';
import { isStatus } from '../../client/errors.ts';
import { shellWord } from '../../lib/shell-word.ts';
import { terminalSafe } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { readIdentity } from '../cluster-identity.ts';
import { CliError, type Invocation, type Run } from '../command.ts';
import { clientFor, connect, resolveConnection } from '../connection/connection.ts';
import { isDryRun, noteOf, writeQuery } from '../dry-run.ts';
import { labelsFrom } from '../labels.ts';
import { type ClusterConnection, connectCluster } from '../sync/cluster-connection.ts';

/** The path of bootstrap tokens. */
const BOOTSTRAP_TOKENS = '/apis/clusterpass.dev/v1alpha1/bootstraptokens';

const SECRET_BYTES = 32;
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const randomName = (): string => Array.from({ length: 10 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** Creates the token here: the server gets its digest only. Writes only the token to stdout. */
export const createBootstrapToken: Run = async (context, invocation) => {
  const namePattern = invocation.required('namePattern');
  const labels = labelsFrom(invocation, '--label');
  const seconds = invocation.seconds('duration');
  const dryRun = isDryRun(invocation);
  const [name = randomName()] = invocation.args;
  const token = bootstrapToken(name, randomBytes(SECRET_BYTES));
  const client = await connect(context, invocation);
  const body: ApiObject = {
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'BootstrapToken',
    metadata: { name },
    spec: {
      tokenDigest: bootstrapTokenDigest(token),
      namePattern,
      labels,
      ...(seconds === undefined ? {} : { expirationTimestamp: toTimestamp(context.now() + seconds * 1000) }),
    },
  };
  const query = { ...writeQuery(invocation), fieldValidation: 'Strict' };
  const { value } = await client.request<ApiObject>('POST', BOOTSTRAP_TOKENS, { query, body, expects: 'object' });
  const { expirationTimestamp = '' } = value.spec as { expirationTimestamp?: string };
  const until = terminalSafe(expirationTimestamp);
  context.err.write(
    dryRun
      ? `The token would be valid until ${until} (server dry run).\n`
      : `Valid until ${until}, for one cluster named ${terminalSafe(namePattern)}. ` +
          `To revoke it: clusterpass kubectl delete bootstraptoken ${terminalSafe(name)}\n`,
  );
  if (!dryRun) context.out.write(`${token}\n`);
  return undefined;
};

/** Registers the cluster in which it runs, with a bootstrap token. Repeated with the same token, it changes nothing. */
export const join: Run = async (context, invocation) => {
  const [name = ''] = invocation.args;
  const connection = await resolveConnection(context, invocation);
  const token = await connection.token?.();
  const id = bootstrapTokenId(token ?? '');
  if (id === undefined) {
    const problem =
      token === undefined ? 'no bootstrap token' : 'the token is not a bootstrap token, which begins with cpbt_';
    throw new CliError(
      `${problem}: create one with clusterpass create bootstrap-token --name-pattern ${shellWord(terminalSafe(name))}, ` +
        'and pass it with --token-file or CLUSTERPASS_TOKEN',
    );
  }
  const client = clientFor(context, connection);
  const source = await connectCluster(context, invocation);
  const { server, caBundle } = await reachableAt(source, invocation);
  const identity = await readIdentity(context, source.transport);
  const body = clusterObject({
    name,
    annotations: identity === undefined ? undefined : { [CLUSTER_ID_ANNOTATION]: identity },
    addresses: [server],
    networks: invocation.list('clientCidr'),
    caBundle,
    productName: client.productName,
  });
  const query = { ...writeQuery(invocation), fieldValidation: 'Strict' };
  const { code } = await client.request('POST', `${BOOTSTRAP_TOKENS}/${id}/cluster`, { query, body });
  const done = code === 201 ? 'registered' : 'is registered already';
  context.out.write(`cluster.${CLUSTER_GROUP}/${name} ${done}${noteOf(invocation)}\n`);
  return undefined;
};

/** Address and CA for clients outside of the cluster. */
async function reachableAt(source: ClusterConnection, invocation: Invocation): Promise<ClusterAddress> {
  const given = invocation.text('address');
  const found = given === undefined && source.isInPod ? await publishedAddress(source) : undefined;
  const ownBundle = source.ca === undefined ? undefined : Buffer.from(source.ca).toString('base64');
  const { server, caBundle } = found ?? { server: given ?? source.server, caBundle: ownBundle };
  return { server, caBundle: invocation.is('withoutCa') ? undefined : caBundle };
}

/** A pod reaches its API server at an address that no client outside reaches. kubeadm publishes the other one. */
async function publishedAddress({ transport }: ClusterConnection): Promise<ClusterAddress> {
  const path = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
  const unknown = 'the address for clients outside of the cluster is not known: set --address';
  try {
    const { data } = (await transport.request<{ data?: { kubeconfig?: unknown } }>('GET', path)).value;
    const found = typeof data?.kubeconfig === 'string' ? onlyAddress(data.kubeconfig) : undefined;
    if (found !== undefined) return found;
  } catch (error) {
    if (!isStatus(error, 403) && !isStatus(error, 404)) throw error;
  }
  throw new CliError(`${unknown} (the ConfigMap cluster-info in kube-public cannot be read)`);
}
