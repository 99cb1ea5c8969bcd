import { AUTHENTICATED, accountUserName, type Caller } from '../api/caller.ts';
import { CONNECTORS_GROUP, clusterOfConnector, connectorUserName } from '../api/connector.ts';
import { fleetKey, storageKey } from '../api/kind.ts';
import { clusterScope } from '../api/kinds/cluster.ts';
import { type ConnectorSpec, connectorKind, IDENTITY_FIELD, identityText, KEYS_FIELD } from '../api/kinds/connector.ts';
import { memberOf, parsedJson } from '../lib/json.ts';
import { withValue } from '../lib/promises.ts';
import type { Secret } from '../observability/secret.ts';
import { decodeJsonSegment, splitToken, TokenRejected, unverifiedClaims } from '../tokens/jws.ts';
import { VerifiedTokenCache } from '../tokens/verified-token-cache.ts';
import { type IssuerKey, readKeySet } from './jwt/jwks.ts';
import { readHeader, signingKey, type TokenTimes, timeProblem, timesIn } from './jwt/jwt-authenticator.ts';
import { plainCaller, type TokenAuthenticator } from './token-authenticator.ts';

/** The account of a connector, as its token says. */
export type ConnectorIdentity = Required<Pick<ConnectorSpec, 'issuer' | 'subject' | 'accountUID'>>;

interface VerifiedConnectorToken extends TokenTimes {
  readonly cluster: string;
  readonly identity: ConnectorIdentity;
  /** The text of the key set that verified it. */
  readonly keys: string;
}

export interface ConnectorTokenParts {
  readonly baseUrl: string;
  /** The stored Connector of a cluster. */
  readonly find: (cluster: string) => { readonly uid: string; field(name: string): string } | undefined;
  /** The UID of the stored cluster. */
  readonly clusterUid: (cluster: string) => string | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * The tokens of connectors: projected tokens of a service account in their cluster. The audience names the Connector,
 * whose keys verify the token, so the keys of one cluster say nothing about another one.
 */
export function createConnectorAuthenticator({
  baseUrl,
  find,
  clusterUid,
  now,
}: ConnectorTokenParts): TokenAuthenticator {
  const cache = new VerifiedTokenCache<VerifiedConnectorToken>({
    verify: (token) => {
      const cluster = clusterOfConnector(baseUrl, soleAudience(unverifiedClaims(token)?.aud)) ?? '';
      const stored = find(cluster);
      if (stored === undefined) throw new TokenRejected(`there is no Connector ${JSON.stringify(cluster)}`);
      return verifyConnectorToken(token, { baseUrl, cluster, keys: stored.field(KEYS_FIELD) });
    },
    hasKey: ({ cluster, keys }) => find(cluster)?.field(KEYS_FIELD) === keys,
  });
  /** Everything that can change after the signature was verified. `uid`: of the Connector. */
  const problem = ({ cluster, identity, keys, ...times }: VerifiedConnectorToken, uid: string | undefined) => {
    const stored = find(cluster);
    const clusterUID = clusterUid(cluster);
    if (stored === undefined || stored.uid !== uid) return 'the Connector was deleted';
    if (clusterUID === undefined || stored.field(IDENTITY_FIELD) !== identityText({ ...identity, clusterUID })) {
      return 'it is of another account than the Connector, or of a former cluster of this name';
    }
    return stored.field(KEYS_FIELD) === keys ? timeProblem(times, now()) : 'the keys of the Connector were replaced';
  };
  return {
    authenticateToken: (token: Secret) => {
      const audience = soleAudience(unverifiedClaims(token.reveal())?.aud);
      if (clusterOfConnector(baseUrl, audience) === undefined) return undefined;
      return withValue(cache.get(token), (verified): Caller => {
        const { cluster, identity, expiresAt } = verified;
        const uid = find(cluster)?.uid;
        const found = problem(verified, uid);
        if (found !== undefined) throw new TokenRejected(found);
        const groups = [CONNECTORS_GROUP, AUTHENTICATED];
        const user = { name: connectorUserName(cluster), uid: identity.accountUID, groups, extra: {} };
        return {
          ...plainCaller(user, () => problem(verified, uid) === undefined, expiresAt),
          connector: cluster,
          dependsOn: [storageKey(connectorKind, fleetKey(cluster)), storageKey(clusterScope, fleetKey(cluster))],
        };
      });
    },
  };
}

/** A token for a connector is for nothing else: the audience of another service could give it to that service. */
const soleAudience = (aud: unknown): unknown => (Array.isArray(aud) && aud.length === 1 ? aud[0] : aud);

/** The account of a token for the connector of this cluster, verified by these keys. Rejects with TokenRejected. */
async function verifyConnectorToken(
  token: string,
  { baseUrl, cluster, keys }: { readonly baseUrl: string; readonly cluster: string; readonly keys: string },
): Promise<VerifiedConnectorToken> {
  const segments = splitToken(token);
  if (segments === undefined) throw new TokenRejected('token is malformed');
  const { alg, kid, isAccessToken } = readHeader(segments);
  if (isAccessToken) throw new TokenRejected('token is of another type');
  const usable = readKeys(keys).filter((key) => kid === undefined || key.kid === undefined || key.kid === kid);
  await signingKey(token, alg, usable);
  const claims = decodeJsonSegment(segments.payload) ?? {};
  if (clusterOfConnector(baseUrl, soleAudience(claims.aud)) !== cluster) {
    throw new TokenRejected('token audience is not that of the connector');
  }
  return { cluster, keys, identity: identityIn(claims), ...timesIn(claims) };
}

function readKeys(keys: string): readonly IssuerKey[] {
  try {
    return readKeySet(parsedJson(keys));
  } catch (error) {
    throw new TokenRejected(`the keys of the Connector cannot be used: ${error instanceof Error ? error.message : ''}`);
  }
}

/** The subject and its parts are the word of one issuer, and agree in every token of Kubernetes. */
function identityIn(claims: Readonly<Record<string, unknown>>): ConnectorIdentity {
  const kubernetes = claims['kubernetes.io'];
  const namespace = memberOf(kubernetes, 'namespace');
  const [name, accountUID] = ['name', 'uid'].map((member) => memberOf(kubernetes, 'serviceaccount', member));
  const { iss: issuer, sub: subject } = claims;
  if (typeof issuer !== 'string' || issuer === '' || typeof accountUID !== 'string' || accountUID === '') {
    throw new TokenRejected('token is not that of a service account');
  }
  if (subject !== accountUserName(String(namespace), String(name)))
    throw new TokenRejected('token subject is malformed');
  return { issuer, subject, accountUID };
}

/**
 * The account and the keys of a connector that registers itself: its token proves that the keys are of its issuer.
 * Rejects with TokenRejected.
 */
export async function verifyRegistration(
  { baseUrl, now }: Pick<ConnectorTokenParts, 'baseUrl' | 'now'>,
  cluster: string,
  { token, keys }: { readonly token: string; readonly keys: string },
): Promise<ConnectorIdentity> {
  const verified = await verifyConnectorToken(token, { baseUrl, cluster, keys });
  const found = timeProblem(verified, now());
  if (found !== undefined) throw new TokenRejected(found);
  return verified.identity;
}
