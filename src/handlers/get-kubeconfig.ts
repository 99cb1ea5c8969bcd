import type { Catalog } from '../api/catalog.ts';
import { addressFor } from '../api/clusters/choose-endpoint.ts';
import { endpointsInForce } from '../api/clusters/confirmed-endpoint.ts';
import { fleetKey } from '../api/kind.ts';
import { CLUSTER_GROUP } from '../api/kinds/cluster-spec.ts';
import { kubeconfigOf, type PassFacts, passContext } from '../api/kubeconfig.ts';
import { isDns1123Label, isDns1123Subdomain } from '../api/names.ts';
import type { ApiRequest, ApiResponse } from '../api/request.ts';
import { conflict, type FieldError, invalidValue, notFound, required, requireValid } from '../api/status.ts';
import type { ObjectReader } from '../objects/reader.ts';

interface KubeconfigParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly productName: string;
  readonly baseUrl: string;
}

/** A kubeconfig for one cluster and account, without secrets. A missing account shows at the first token request. */
export function createKubeconfigHandler({ catalog, reader, productName, baseUrl }: KubeconfigParts) {
  const { clusters } = catalog;
  return async ({ target: { name }, query, clientAddress }: ApiRequest): Promise<ApiResponse> => {
    const account = readAccount(query.get('as') ?? '');
    // As fresh as the store, like a get: a replaced address must not be returned.
    await reader.catchUp();
    const cluster = reader.find(clusters, fleetKey(name));
    if (cluster === undefined) throw notFound(clusters, name);
    const { serverEndpoints = [], caBundle } = endpointsInForce(cluster.object(), productName);
    const server = addressFor(serverEndpoints, clientAddress);
    if (server === undefined) throw conflict(clusters, name, 'the cluster has no server endpoint');
    const value = kubeconfigOf([passContext({ cluster: name, server, caBundle, baseUrl, account, productName })]);
    return { type: 'value', code: 200, value };
  };
}

const EXPECTED = 'the service account to get tokens for, as namespace/name, or me for passes of the person';
type Account = Exclude<PassFacts['account'], 'me'>;

const ABOUT = { group: CLUSTER_GROUP, kind: 'KubeconfigOptions' };

/** The names become arguments of a command line, so only valid names pass. */
function readAccount(text: string): PassFacts['account'] {
  if (text === 'me') return text;
  const slash = text.indexOf('/');
  const account = { namespace: text.slice(0, Math.max(slash, 0)), name: text.slice(slash + 1) };
  requireValid(ABOUT, '', accountErrors(text, account));
  return account;
}

function accountErrors(text: string, { namespace, name }: Account): FieldError[] {
  if (text === '') return [required('as', EXPECTED)];
  if (!text.includes('/')) return [invalidValue('as', text, `must be ${EXPECTED}`)];
  return [
    ...isDns1123Label(namespace).map((why) => invalidValue('as', text, `namespace: ${why}`)),
    ...isDns1123Subdomain(name).map((why) => invalidValue('as', text, `name: ${why}`)),
  ];
}
