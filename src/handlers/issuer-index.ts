import type { Caller } from '../api/caller.ts';
import type { Catalog } from '../api/catalog.ts';
import type { ApiObject } from '../api/kind.ts';
import { kindPrefix } from '../api/object-key.ts';
import type { ApiRequest } from '../api/request.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import type { ObjectReader } from '../objects/reader.ts';
import { parseFieldSelector } from '../objects/selectors/field-selector.ts';
import { parseLabelSelector } from '../objects/selectors/label-selector.ts';
import { keySetAddress } from '../tokens/issuer-documents.ts';
import { selectAll } from './selection.ts';
import type { Views } from './views.ts';

export interface IssuerIndexParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly views: Pick<Views, 'rule'>;
  readonly issuerOf: (cluster: string) => string;
  /** Undefined when the desk issues for every cluster. */
  readonly issuesItself: ((object: ApiObject) => boolean) | undefined;
}

/** For this caller, as JSON. */
export type IssuerIndex = (caller: Caller, request: Pick<ApiRequest, 'signal'>) => Promise<Uint8Array>;

/** How many clusters are put into one piece, before a look at the clock. */
const IN_A_PIECE = 64;

/**
 * Which issuers a relying party of the whole fleet may meet: those of the clusters that the caller sees. Clusters that
 * issue for themselves are left out: their tokens name an issuer that only they know, and nobody is to expect ours.
 */
export function createIssuerIndex(parts: IssuerIndexParts): IssuerIndex {
  const { catalog, reader, views, issuerOf, issuesItself } = parts;
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
    const turn = new TimeSlice(request);
    const pieces: Buffer[] = [];
    let piece = '{"issuers":[';
    let separator = '';
    let seen = 0;
    for (const cluster of selectAll(reader.cache(kind).snapshot, selection)) {
      seen += 1;
      if (seen % IN_A_PIECE === 0) {
        pieces.push(Buffer.from(piece));
        piece = '';
        if (turn.isOver) await turn.next();
      }
      if (issuesItself?.(cluster.object())) continue;
      const { name } = cluster;
      const issuer = issuerOf(name);
      piece += `${separator}${JSON.stringify({ cluster: name, issuer, jwks_uri: keySetAddress(issuer) })}`;
      separator = ',';
    }
    return Buffer.concat([...pieces, Buffer.from(`${piece}]}\n`)]);
  };
}
