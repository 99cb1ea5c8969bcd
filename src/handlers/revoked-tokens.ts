import type { Catalog } from '../api/catalog.ts';
import { LEEWAY_MS } from '../api/deletion.ts';
import { TOKEN_CHECKS_ANNOTATION } from '../api/domain-keys.ts';
import { fleetKey } from '../api/object-key.ts';
import type { ApiRequest } from '../api/request.ts';
import type { ObjectReader } from '../objects/reader.ts';

interface AcceptedParts {
  readonly catalog: Pick<Catalog, 'clusters'>;
  readonly reader: Pick<ObjectReader, 'find'>;
  readonly now: () => number;
}

/** A token that was revoked. */
interface RevokedToken {
  readonly cluster: string;
  /** Its only audience is the API of the cluster. */
  readonly isForClusterOnly: boolean;
  readonly expirationTimestamp: string;
}

/** Warns of the time until which others accept revoked tokens, unless their only audiences ask for each token. */
export function warnOfAccepted(
  { catalog, reader, now }: AcceptedParts,
  { warn }: Pick<ApiRequest, 'warn'>,
  what: string,
  tokens: readonly RevokedToken[],
): void {
  const asks = (cluster: string): boolean =>
    reader.find(catalog.clusters, fleetKey(cluster))?.object().metadata.annotations?.[TOKEN_CHECKS_ANNOTATION] ===
    'webhook';
  const until = tokens
    .filter(({ cluster, isForClusterOnly }) => !(isForClusterOnly && asks(cluster)))
    .map(({ expirationTimestamp }) => expirationTimestamp)
    .filter((timestamp) => Date.parse(timestamp) + LEEWAY_MS >= now())
    .sort()
    .at(-1);
  if (until === undefined) return;
  warn(
    `Clusterpass and TokenReviews refuse ${what} from now on; clusters and services that verify them with the key set ` +
      `accept them until ${until}`,
  );
}
