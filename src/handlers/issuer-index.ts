import type { Caller } from '../api/caller.ts';
import type { Catalog } from '../api/catalog.ts';
import { kindPrefix } from '../api/object-key.ts';
import type { ApiRequest } from '../api/request.ts';
import type { ObjectReader } from '../objects/reader.ts';
import { parseFieldSelector } from '../objects/selectors/field-selector.ts';
import { parseLabelSelector } from '../objects/selectors/label-selector.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { keySetAddress } from '../tokens/issuer-documents.ts';
import { selectAll } from './selection.ts';
import type { Views } from './views.ts';

interface IssuerIndexParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly views: Pick<Views, 'rule'>;
  readonly issuerOf: (cluster: string) => string;
  readonly issuesOwnTokens: (cluster: StoredObject) => boolean;
}

/** The index that this caller may see, as JSON. */
export type IssuerIndex = (caller: Caller, request: Pick<ApiRequest, 'work'>) => Promise<Uint8Array>;

const CLUSTERS_PER_CLOCK_READ = 64;

/**
 * The issuers of the clusters that the caller may see, for a relying party of the whole fleet. Clusters that issue
 * their own tokens are left out: only they know the issuer in their tokens.
 */
export function createIssuerIndex(parts: IssuerIndexParts): IssuerIndex {
  const { catalog, reader, views, issuerOf, issuesOwnTokens } = parts;
  return async (caller, request) => {
    await reader.catchUp();
    const kind = catalog.clusters;
    const selection = {
      prefix: kindPrefix(kind),
      namesAreUnique: true,
      labels: parseLabelSelector(''),
      fields: parseFieldSelector(''),
      rule: views.rule(kind, caller, 'list'),
    };
    const { work } = request;
    await work.turn();
    const issuers: string[] = [];
    let seen = 0;
    for (const cluster of selectAll(reader.cache(kind).snapshot, selection)) {
      if (++seen % CLUSTERS_PER_CLOCK_READ === 0 && work.isUsedUp) await work.turn();
      if (issuesOwnTokens(cluster)) continue;
      const issuer = issuerOf(cluster.name);
      issuers.push(JSON.stringify({ cluster: cluster.name, issuer, jwks_uri: keySetAddress(issuer) }));
    }
    // Serialized one by one, so that a large fleet does not block the event loop.
    return Buffer.from(`{"issuers":[${issuers.join()}]}\n`);
  };
}
