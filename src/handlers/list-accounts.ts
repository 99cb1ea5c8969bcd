import {
  type Authorizer,
  type PassAuthorizer,
  type PassHolder,
  type ResourceQuestion,
  tokenQuestion,
} from '../api/authorization.ts';
import type { Catalog } from '../api/catalog.ts';
import { collectionPrefix, fleetKey } from '../api/kind.ts';
import type { ApiRequest, ApiResponse, Query } from '../api/request.ts';
import { badRequest, notFound } from '../api/status.ts';
import type { ObjectReader } from '../objects/reader.ts';

/** More than a person can choose from. A longer list is cut and says `incomplete`. */
const MAX_LISTED = 1_000;
/** Bounds the decisions of one request in a cluster with many accounts. */
const MAX_CHECKED = 20_000;
const CHECKS_PER_CLOCK_READ = 32;

/**
 * The service accounts of a cluster for which the caller may create tokens or, with `passesFor`, request passes, also
 * those that need an approval. The list reveals no other account: the caller could find each of these with a request.
 */
export function createListAccountsHandler(
  catalog: Catalog,
  reader: ObjectReader,
  authorizer: Authorizer & PassAuthorizer,
): (request: ApiRequest) => Promise<ApiResponse> {
  return async (request) => {
    const { caller, target } = request;
    const cluster = target.name;
    const passesFor = passesForOf(request.query);
    const isUsable = (question: ResourceQuestion): boolean =>
      passesFor === undefined
        ? authorizer.decide(caller, question).allowed
        : authorizer.decidePass(caller, question, passesFor).allowed;
    await reader.catchUp();
    if (reader.find(catalog.clusters, fleetKey(cluster)) === undefined) {
      throw notFound(catalog.clusters, cluster);
    }
    const items: { namespace: string; name: string }[] = [];
    const { work } = request;
    await work.turn();
    let checked = 0;
    let incomplete = false;
    const accounts = reader.cache(catalog.serviceAccounts).snapshot;
    for (const { namespace, name } of accounts.scan(collectionPrefix(catalog.serviceAccounts, cluster, ''))) {
      if (items.length >= MAX_LISTED || checked >= MAX_CHECKED) {
        incomplete = true;
        break;
      }
      if (++checked % CHECKS_PER_CLOCK_READ === 0 && work.isUsedUp) await work.turn();
      if (isUsable(tokenQuestion({ cluster, namespace, name }))) items.push({ namespace, name });
    }
    const value = {
      apiVersion: 'clusterpass.dev/v1alpha1',
      kind: 'UsableAccountList',
      metadata: {},
      incomplete,
      items,
    };
    return { type: 'value', code: 200, value };
  };
}

function passesForOf(query: Query): PassHolder | undefined {
  const value = query.get('passesFor') ?? undefined;
  if (value === undefined || value === 'agent' || value === 'person') return value;
  throw badRequest('passesFor must be "agent" or "person"');
}
