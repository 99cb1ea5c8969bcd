import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { bootstrapTokenId } from '../../api/bootstrap-credential.ts';
import { clusterObject } from '../../api/clusters/cluster-object.ts';
import { CONNECTOR_ANNOTATION, type ConnectorClaim } from '../../api/connector.ts';
import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { JWKS_TYPE } from '../../connector/cluster-findings.ts';
import { type ConnectorRules, readRules } from '../../connector/configuration.ts';
import { runConnector } from '../../connector/run-connector.ts';
import { realTiming } from '../../lib/backoff.ts';
import { every } from '../../lib/rounds.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { type Connection, resolveConnection, tokenFor } from '../connection/connection.ts';
import { readGivenFile } from '../files/files.ts';
import { type ClusterConnection, connectCluster, connectServer, POD_FOLDER } from '../sync/cluster-connection.ts';

const CHECK_MS = 10_000;

/** Runs in a cluster: registers it, reports about it, copies its objects, and issues the tokens that are ordered. */
export const run: Run = async (context, invocation) => {
  const configFile = resolve(context.cwd, invocation.required('config'));
  const connection = await resolveConnection(context, invocation);
  const source = await connectCluster(context, invocation);
  const namespace =
    invocation.text('namespace') ?? (source.isInPod ? await readGivenFile(`${POD_FOLDER}/namespace`) : undefined);
  if (namespace === undefined) throw new CliError('--namespace is required outside of a Pod: that of the connector');
  const log = (line: string): void => context.err.write(`${terminalSafe(line)}\n`);
  const token = async (): Promise<string> => tokenFor(connection)();
  const stopped = context.stopped();
  // Again after every change of the file. One with a mistake ends the process: then nothing is allowed.
  while (!stopped.aborted) {
    const text = await readGivenFile(configFile);
    const rules = rulesIn(text, configFile, namespace);
    const changed = new AbortController();
    const end = every(CHECK_MS, () => {
      // Closed connections are garbage whose memory V8 does not know.
      void globalThis.gc?.({ type: 'major', execution: 'async' });
      const now = readGivenFile(configFile).catch(() => undefined);
      void now.then((found) => found === text || changed.abort());
    });
    const parts = {
      ...{ cluster: invocation.required('cluster'), productName: connection.productName, version: context.version },
      ...{ server: connectServer(context, connection), api: source.transport, namespace, token, rules, log },
      register: async (id: string, signal: AbortSignal) => {
        const claim = { token: await token(), orders: rules.orders };
        log(await registerCluster(context, invocation, { source, connection, id, claim, signal }));
      },
      holder: `${hostname()}_${randomUUID()}`,
      timing: realTiming,
    };
    await runConnector(parts, AbortSignal.any([stopped, changed.signal])).finally(end);
  }
};

function rulesIn(text: string, file: string, namespace: string): ConnectorRules {
  try {
    return readRules(Buffer.from(text), namespace);
  } catch (error) {
    throw new CliError(`configuration ${file}: ${(error as Error).message}`);
  }
}

interface RegisterParts {
  readonly source: ClusterConnection;
  readonly connection: Connection;
  /** The UID of the namespace kube-system. */
  readonly id: string;
  readonly claim: Omit<ConnectorClaim, 'keys'>;
  readonly signal: AbortSignal;
}

/** Registers the cluster with a bootstrap token. Repeated with the same token, it changes nothing. */
async function registerCluster(
  context: Context,
  invocation: Invocation,
  { source, connection, id, claim, signal }: RegisterParts,
): Promise<string> {
  const file = invocation.text('bootstrapTokenFile');
  if (file === undefined) throw new CliError('Clusterpass does not know this connector: set --bootstrap-token-file');
  const token = (await readGivenFile(resolve(context.cwd, file))).trim();
  const tokenId = bootstrapTokenId(token);
  if (tokenId === undefined)
    throw new CliError(`${file} has no bootstrap token, which begins with cpbt_: clusterpass create bootstrap-token`);
  const options = { expects: 'unchecked', accept: JWKS_TYPE, signal } as const;
  const { value: keys } = await source.transport.request<unknown>('GET', '/openid/v1/jwks', options);
  const complete: ConnectorClaim = { ...claim, keys };
  const name = invocation.required('cluster');
  const address = invocation.text('address');
  const body = clusterObject({
    name,
    annotations: { [CLUSTER_ID_ANNOTATION]: id, [CONNECTOR_ANNOTATION]: JSON.stringify(complete) },
    addresses: address === undefined ? [] : [address],
    caBundle: address && source.ca && Buffer.from(source.ca).toString('base64'),
    productName: connection.productName,
  });
  const path = `/apis/clusterpass.dev/v1alpha1/bootstraptokens/${tokenId}/cluster`;
  const query = { fieldValidation: 'Strict' };
  const given = { credentialSource: 'the bootstrap token', tokenProvider: () => token };
  const { code } = await connectServer(context, connection, given).request('POST', path, { query, body, signal });
  const is = `cluster.${CLUSTER_GROUP}/${name} is registered`;
  if (code === 201) return `${is} ${address === undefined ? 'without an address' : `at ${address}`}`;
  return `${is} already; if its Connector is of another account, delete that and create another bootstrap token`;
}
