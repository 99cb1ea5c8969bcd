import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { AUTHENTICATED, accountUserName, type Caller } from '../api/caller.ts';
import { CONNECTORS_GROUP, clusterOfConnector, connectorUserName } from '../api/connector.ts';
import { type ApiObject, fleetKey, storageKey } from '../api/kind.ts';
import { clusterScope } from '../api/kinds/cluster.ts';
import { type ConnectorSpec, connectorKind, IDENTITY_FIELD, identityText, keysOf } from '../api/kinds/connector.ts';
import { memberOf } from '../lib/json.ts';
import { JWS_ALGORITHMS } from '../lib/jws-algorithms.ts';
import { withValue } from '../lib/promises.ts';
import type { Secret } from '../observability/secret.ts';
import { TokenRejected, unverifiedClaims } from '../tokens/jws.ts';
import { VerifiedTokenCache } from '../tokens/verified-token-cache.ts';
import { plainCaller, type TokenAuthenticator } from './token-authenticator.ts';

/** The account of a connector, as its token says. */
export type ConnectorIdentity = Required<Pick<ConnectorSpec, 'issuer' | 'subject' | 'accountUID'>>;

interface VerifiedConnectorToken {
  readonly cluster: string;
  readonly identity: ConnectorIdentity;
  /** The text of the key set that verified it. */
  readonly keys: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

interface StoredConnector {
  readonly uid: string;
  field(name: string): string;
  object(): ApiObject;
}

export interface ConnectorTokenParts {
  readonly baseUrl: string;
  /** The stored Connector of a cluster. */
  readonly find: (cluster: string) => StoredConnector | undefined;
  /** The UID of the stored cluster. */
  readonly clusterUid: (cluster: string) => string | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * The tokens of connectors: projected tokens of a service account in their cluster. The audience names the Connector,
 * whose keys verify the token, so the keys of one cluster say nothing about another one.
 */
export function createConnectorAuthenticator(parts: ConnectorTokenParts): TokenAuthenticator {
  const { baseUrl, find, clusterUid, now } = parts;
  const cache = new VerifiedTokenCache<VerifiedConnectorToken>({
    verify: (token) => {
      const cluster = clusterOf(baseUrl, unverifiedClaims(token)) ?? '';
      const stored = find(cluster);
      if (stored === undefined) throw new TokenRejected(`there is no Connector ${JSON.stringify(cluster)}`);
      return verifyConnectorToken(parts, cluster, { token, keys: keysOf(stored.object()) });
    },
    hasKey: isCurrent,
  });
  function isCurrent({ cluster, identity, keys }: VerifiedConnectorToken): boolean {
    const clusterUID = clusterUid(cluster) ?? '';
    return find(cluster)?.field(IDENTITY_FIELD) === identityText({ ...identity, clusterUID, keys });
  }
  /** Everything that can change after the signature was verified. `uid`: of the Connector. */
  const isLive = (verified: VerifiedConnectorToken, uid: string | undefined): boolean =>
    isCurrent(verified) && find(verified.cluster)?.uid === uid && now() <= verified.expiresAt;
  return {
    authenticateToken: (token: Secret) => {
      if (clusterOf(baseUrl, unverifiedClaims(token.reveal())) === undefined) return undefined;
      return withValue(cache.get(token), (verified): Caller => {
        const { cluster, identity, expiresAt } = verified;
        const uid = find(cluster)?.uid;
        if (!isLive(verified, uid))
          throw new TokenRejected('it has expired, or is of another account than the Connector');
        const groups = [CONNECTORS_GROUP, AUTHENTICATED];
        const user = { name: connectorUserName(cluster), uid: identity.accountUID, groups, extra: {} };
        return {
          ...plainCaller(user, () => isLive(verified, uid), expiresAt),
          connector: cluster,
          dependsOn: [storageKey(connectorKind, fleetKey(cluster)), storageKey(clusterScope, fleetKey(cluster))],
        };
      });
    },
  };
}

/** A token for a connector is for nothing else: the audience of another service could give it to that service. */
function clusterOf(baseUrl: string, { aud }: { readonly aud?: unknown } = {}): string | undefined {
  const [audience, ...others] = [aud].flat();
  return others.length === 0 ? clusterOfConnector(baseUrl, audience) : undefined;
}

/** As in kube-apiserver: our clock may be a minute behind that of the cluster. There is no leeway for the expiry. */
const CLOCK_TOLERANCE = '60 seconds';

/**
 * The account of a token for the connector of this cluster, verified by these keys: for one that registers itself, its
 * token proves that the keys are of its issuer. Rejects with TokenRejected.
 */
export async function verifyConnectorToken(
  { baseUrl, now }: Pick<ConnectorTokenParts, 'baseUrl' | 'now'>,
  cluster: string,
  { token, keys }: { readonly token: string; readonly keys: string },
): Promise<VerifiedConnectorToken> {
  try {
    const keySet = createLocalJWKSet(JSON.parse(keys) as JSONWebKeySet);
    const { payload } = await jwtVerify(token, keySet, {
      ...{ algorithms: [...JWS_ALGORITHMS], currentDate: new Date(now()), clockTolerance: CLOCK_TOLERANCE },
      requiredClaims: ['iss', 'exp'],
    });
    const expiresAt = (payload.exp ?? 0) * 1000;
    if (now() > expiresAt) throw new Error('token has expired');
    if (clusterOf(baseUrl, payload) !== cluster) throw new Error('token audience is not that of the connector');
    return { cluster, keys, identity: identityIn(payload), expiresAt };
  } catch (error) {
    throw new TokenRejected((error as Error).message);
  }
}

/** The subject and its parts are the word of one issuer, and agree in every token of Kubernetes. */
function identityIn({ iss: issuer = '', sub: subject, 'kubernetes.io': kubernetes }: JWTPayload): ConnectorIdentity {
  const namespace = memberOf(kubernetes, 'namespace');
  const [name, accountUID] = ['name', 'uid'].map((member) => memberOf(kubernetes, 'serviceaccount', member));
  if (typeof accountUID !== 'string' || accountUID === '') throw new Error('token is not that of a service account');
  if (subject !== accountUserName(String(namespace), String(name))) throw new Error('token subject is malformed');
  return { issuer, subject, accountUID };
}
