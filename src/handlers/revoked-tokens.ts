import type { Catalog } from '../api/catalog.ts';
import { TOKEN_CHECKS_ANNOTATION } from '../api/clusters/annotations.ts';
import { fleetKey, LEEWAY_MS } from '../api/kind.ts';
import { hasConnector } from '../api/kinds/cluster-spec.ts';
import type { ApiRequest } from '../api/request.ts';
import type { ObjectReader } from '../objects/reader.ts';

interface AcceptedParts {
  readonly catalog: Pick<Catalog, 'clusters'>;
  readonly reader: Pick<ObjectReader, 'find'>;
  readonly now: () => number;
}

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
  /** A token that a connector has issued ends with its Secret, for all who ask the cluster. */
  const isEnded = ({ cluster, isForClusterOnly }: RevokedToken): boolean => {
    const object = reader.find(catalog.clusters, fleetKey(cluster))?.object();
    if (object === undefined) return false;
    if (hasConnector(object)) return true;
    return isForClusterOnly && object.metadata.annotations?.[TOKEN_CHECKS_ANNOTATION] === 'webhook';
  };
  const until = tokens
    .filter((token) => !isEnded(token))
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
