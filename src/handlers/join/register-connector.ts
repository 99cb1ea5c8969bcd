import type { Catalog } from '../../api/catalog.ts';
import { CONNECTOR_ANNOTATION } from '../../api/connector.ts';
import { type ApiObject, apiVersionOf, fleetKey } from '../../api/kind.ts';
import { type ConnectorSpec, connectorSpec } from '../../api/kinds/connector.ts';
import { ApiError, ignoreNotFound, invalid, invalidValue } from '../../api/status.ts';
import { isJsonObject, parsedJson } from '../../lib/json.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import { TokenRejected } from '../../tokens/jws.ts';

/** Whose tokens identify a connector, all but the cluster. */
type ConnectorAccount = Omit<ConnectorSpec, 'clusterUID'>;

/** Verifies the token of a connector by the keys that came with it. Rejects with TokenRejected. */
export type VerifyConnector = (
  cluster: string,
  claim: { readonly token: string; readonly keys: string },
) => Promise<{ readonly identity: Omit<ConnectorAccount, 'keys'> }>;

interface RegisterConnectorParts {
  readonly catalog: Pick<Catalog, 'clusters' | 'connectors'>;
  readonly reader: Pick<ObjectReader, 'find'>;
  readonly writer: Pick<ObjectWriter, 'create' | 'remove'>;
  readonly verifyConnector: VerifyConnector;
}

const CLAIM_FIELD = `metadata.annotations[${CONNECTOR_ANNOTATION}]`;

/** The connector that registers itself with its cluster; undefined when none does. Throws a 422. */
export async function readConnector(
  { catalog, verifyConnector }: RegisterConnectorParts,
  { metadata: { name = '', annotations = {} } }: ApiObject,
) {
  const text = annotations[CONNECTOR_ANNOTATION];
  if (text === undefined) return undefined;
  const refuse = (why: string): ApiError => invalid(catalog.clusters, name, [invalidValue(CLAIM_FIELD, '', why)]);
  const claim = parsedJson(text);
  const { token, keys, orders } = isJsonObject(claim) ? claim : {};
  if (typeof token !== 'string' || !isJsonObject(keys)) throw refuse('must be the JSON of a token and of its keys');
  const keysText = JSON.stringify(keys);
  try {
    const { identity } = await verifyConnector(name, { token, keys: keysText });
    return { account: { ...identity, keys: keysText }, answersOrders: orders !== false };
  } catch (error) {
    if (!(error instanceof TokenRejected)) throw error;
    throw refuse(`the token of the connector is not accepted: ${error.message}`);
  }
}

/** Repeated, it changes nothing. The connector of a former cluster of this name is replaced. */
export async function recordConnector(
  { catalog: { connectors }, reader, writer }: RegisterConnectorParts,
  { metadata: { name = '', uid: clusterUID = '' } }: ApiObject,
  account: ConnectorAccount,
): Promise<void> {
  const key = fleetKey(name);
  const old = reader.find(connectors, key);
  if (old !== undefined && connectorSpec(old.object()).clusterUID !== clusterUID) {
    const preconditions = { uid: old.uid };
    await writer.remove(connectors, key, { dryRun: false, preconditions }).catch(ignoreNotFound);
  }
  const spec: ConnectorSpec = { clusterUID, ...account };
  const connector = { apiVersion: apiVersionOf(connectors), kind: connectors.kind, metadata: { name }, spec };
  await writer.create(connectors, key, connector, { dryRun: false }).catch(unlessTaken);
}

export function unlessTaken(error: unknown): void {
  if (!(error instanceof ApiError && error.status.reason === 'AlreadyExists')) throw error;
}
