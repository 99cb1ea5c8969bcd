import type { Authorizer } from '../api/authorization.ts';
import type { Catalog } from '../api/catalog.ts';
import { collectionPrefix } from '../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../api/request.ts';
import { notFound } from '../api/status.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import type { ObjectReader } from '../objects/reader.ts';

export interface ListAccountsParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly authorizer: Authorizer;
}

/** More than a person can choose from. A longer list is cut and says `incomplete`. */
const MAX_LISTED = 1_000;
/** Bounds the decisions of one request in a cluster with many accounts. */
const MAX_CHECKED = 20_000;
const CHECKS_PER_CLOCK_READ = 32;

/**
 * The service accounts of a cluster for which the caller may create tokens. The list reveals no other account: the
 * caller could find each of these with a token request.
 */
export function createListAccountsHandler(parts: ListAccountsParts): (request: ApiRequest) => Promise<ApiResponse> {
  const { catalog, reader, authorizer } = parts;
  return async (request) => {
    const { caller, target } = request;
    const cluster = target.name;
    await reader.catchUp();
    if (reader.find(catalog.clusters, { cluster: '', namespace: '', name: cluster }) === undefined) {
      throw notFound(catalog.clusters, cluster);
    }
    const items: { namespace: string; name: string }[] = [];
    const slice = new TimeSlice(request);
    let checked = 0;
    let incomplete = false;
    const accounts = reader.cache(catalog.serviceAccounts).snapshot;
    for (const { namespace, name } of accounts.scan(collectionPrefix(catalog.serviceAccounts, cluster, ''))) {
      if (items.length >= MAX_LISTED || checked >= MAX_CHECKED) {
        incomplete = true;
        break;
      }
      if (++checked % CHECKS_PER_CLOCK_READ === 0 && slice.isOver) await slice.next();
      const decision = authorizer.decide(caller, {
        verb: 'create',
        group: '',
        resource: 'serviceaccounts',
        subresource: 'token',
        namespace,
        name,
        cluster,
      });
      if (decision.allowed) items.push({ namespace, name });
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
