import type { Authorizer } from '../api/authorization.ts';
import type { Catalog } from '../api/catalog.ts';
import { collectionPrefix } from '../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../api/request.ts';
import { notFound } from '../api/status.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import type { ObjectReader } from '../objects/reader.ts';

export interface UsableAccountsParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly authorizer: Authorizer;
}

/** More than a person can choose from. Whoever has more is told that there are more. */
const MOST_LISTED = 1_000;
/** However many accounts a cluster has, so many are looked at. */
const MOST_LOOKED_AT = 20_000;
/** How many decisions are made before a look at the clock. */
const BETWEEN_LOOKS = 32;

/**
 * The service accounts of a cluster that the caller may ask a token of. It tells only of those: each of them the
 * caller could find by asking for a token, and of the others nobody learns whether they exist.
 */
export function createUsableAccountsHandler(parts: UsableAccountsParts): (request: ApiRequest) => Promise<ApiResponse> {
  const { catalog, reader, authorizer } = parts;
  return async (request) => {
    const { caller, target } = request;
    const cluster = target.name;
    await reader.catchUp();
    if (reader.find(catalog.clusters, { cluster: '', namespace: '', name: cluster }) === undefined) {
      throw notFound(catalog.clusters, cluster);
    }
    const items: { namespace: string; name: string }[] = [];
    const turn = new TimeSlice(request);
    let lookedAt = 0;
    let incomplete = false;
    const accounts = reader.cache(catalog.serviceAccounts).snapshot;
    for (const { namespace, name } of accounts.scan(collectionPrefix(catalog.serviceAccounts, cluster, ''))) {
      if (items.length >= MOST_LISTED || lookedAt >= MOST_LOOKED_AT) {
        incomplete = true;
        break;
      }
      if (++lookedAt % BETWEEN_LOOKS === 0 && turn.isOver) await turn.next();
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
