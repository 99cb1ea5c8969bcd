import { credentialIdOf, REVOKED_CREDENTIAL_IDS } from '../api/caller.ts';
import type { Catalog } from '../api/catalog.ts';
import { TOKEN_CHECKS_ANNOTATION } from '../api/clusters/annotations.ts';
import { type ApiObject, fleetKey, type Kind, LEEWAY_MS } from '../api/kind.ts';
import { hasConnector } from '../api/kinds/cluster-spec.ts';
import { bindingSpec } from '../api/kinds/fleet-role-binding.ts';
import { BINDING_LABEL, type IssuedTokenSpec, REQUESTER_LABEL } from '../api/kinds/issued-token.ts';
import type { ApiRequest } from '../api/request.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { Revocations } from '../tokens/revocations/revocations.ts';

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

interface BindingPassesParts {
  readonly catalog: Pick<Catalog, 'clusters' | 'fleetRoleBindings' | 'issuedTokens'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'find'>;
  readonly revocations: Pick<Revocations, 'revoke'>;
  readonly issuerOf: (cluster: string) => string;
  readonly givesTokens: (binding: ApiObject) => boolean;
  /** Whether every token has a record. */
  readonly tracksAll: () => boolean;
  readonly maxExpirationSeconds: number;
  readonly now: () => number;
}

/**
 * Ends the passes of a FleetRoleBinding that was deleted before its time, as far as they have records, and says which
 * others may be accepted, and until when. The sweep of token records does the same where no request deletes it.
 */
export const createEndPasses =
  (parts: BindingPassesParts) =>
  async (request: ApiRequest, kind: Kind, binding: ApiObject): Promise<void> => {
    const { catalog, reader, revocations, now } = parts;
    const { uid = '' } = binding.metadata;
    const endsAt = lastEnd(parts, binding);
    if (kind !== catalog.fleetRoleBindings || !(endsAt > now())) return;
    const tokens = [...reader.cache(catalog.issuedTokens).current.withLabel(BINDING_LABEL, uid)].filter(
      (entry) => !entry.isExpired(now()),
    );
    const by = request.caller.as(undefined);
    await Promise.all(
      tokens.map(({ name, expiresAt, labels }) => revocations.revoke(name, by, expiresAt, labels?.[REQUESTER_LABEL])),
    );
    if (tokens.length > 0) {
      request.annotate(REVOKED_CREDENTIAL_IDS, tokens.map(({ name }) => credentialIdOf(name)).join(','));
    }
    const revoked = tokens.map((entry) => {
      const { cluster, audiences, expirationTimestamp } = entry.object().spec as IssuedTokenSpec;
      const isForClusterOnly = audiences.every((audience) => audience === parts.issuerOf(cluster));
      return { cluster, expirationTimestamp, isForClusterOnly };
    });
    warnOfAccepted(parts, request, 'the tracked passes of this binding', revoked);
    if (parts.tracksAll() || !parts.givesTokens(binding)) return;
    request.warn(
      `passes of this binding without a record are not revoked: they may be accepted until ${toTimestamp(endsAt)}`,
    );
  };

/** When the last pass that the binding could allow ends, in epoch milliseconds. */
function lastEnd({ maxExpirationSeconds, now }: BindingPassesParts, binding: ApiObject): number {
  const { expiresAt, maxPassSeconds = Number.POSITIVE_INFINITY } = bindingSpec(binding);
  const longest = now() + Math.min(maxPassSeconds, maxExpirationSeconds) * 1000;
  return expiresAt === undefined ? longest : Math.min(Date.parse(expiresAt), longest);
}
