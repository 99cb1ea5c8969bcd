import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../api/caller.ts';
import type { Catalog } from '../api/catalog.ts';
import { kindPrefix } from '../api/object-key.ts';
import { parseFieldSelector } from '../objects/field-selector.ts';
import { parseLabelSelector } from '../objects/label-selector.ts';
import type { ObjectReader } from '../objects/reader.ts';
import { keySetAddress } from '../tokens/issuer-documents.ts';
import { selectAll } from './selection.ts';
import type { Views } from './views.ts';

export interface IssuerIndexParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly views: Pick<Views, 'rule'>;
  readonly issuerOf: (cluster: string) => string;
}

/** Written as JSON in pieces: whoever sees a large fleet must not hold up the others. */
const AT_ONCE = 2_000;

/** Which issuers a relying party of the whole fleet may meet: those of the clusters that the caller sees. */
export function createIssuerIndex(parts: IssuerIndexParts): (caller: Caller) => Promise<string> {
  const { catalog, reader, views, issuerOf } = parts;
  return async (caller) => {
    await reader.catchUp();
    const kind = catalog.clusters;
    const selection = {
      prefix: kindPrefix(kind),
      namesAreUnique: true,
      labels: parseLabelSelector(''),
      fields: parseFieldSelector(''),
      rule: views.rule(kind, caller, 'list'),
    };
    const issuers: string[] = [];
    for (const { name } of selectAll(reader.cache(kind).current, selection)) {
      const issuer = issuerOf(name);
      issuers.push(JSON.stringify({ cluster: name, issuer, jwks_uri: keySetAddress(issuer) }));
      if (issuers.length % AT_ONCE === 0) await nextTurn();
    }
    return `{"issuers":[${issuers.join(',')}]}\n`;
  };
}
