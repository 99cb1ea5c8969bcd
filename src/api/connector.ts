import { memberOf } from '../lib/json.ts';
import { sha256 } from '../lib/sha256.ts';
import type { BoundObjectReference } from './kinds/token-request.ts';
import { namePart } from './name-part.ts';

/** What the server and the connector of a cluster say to each other (docs/connect/managed-clusters.md). */

/** Connectors in clusters speak older ones: test/fixtures/connector-contract-*.jsonl holds each as it was. */
export const CONNECTOR_CONTRACT = 1;

/** On a Cluster that a bootstrap token registers: JSON of a `ConnectorClaim`. It is not stored. */
export const CONNECTOR_ANNOTATION = 'clusterpass.dev/connector';

/** Who the connector is: a projected token of its service account, and the keys that verify it. */
export interface ConnectorClaim {
  readonly token: string;
  /** The JWKS of the cluster's issuer. */
  readonly keys: unknown;
  /** False: it mirrors and reports only, and Clusterpass goes on signing the tokens of the cluster. */
  readonly orders?: boolean;
}

/** The one audience of the tokens of a connector; of the orders for it, too. */
export const connectorAudience = (baseUrl: string, cluster: string): string => `${baseUrl}/connectors/${cluster}`;

const withoutPrefix = (text: unknown, prefix: string): string | undefined =>
  typeof text === 'string' && text.startsWith(prefix) ? text.slice(prefix.length) : undefined;

/** The cluster of such an audience; undefined for another audience. */
export const clusterOfConnector = (baseUrl: string, audience: unknown): string | undefined =>
  withoutPrefix(audience, connectorAudience(baseUrl, ''));

export const CONNECTORS_GROUP = 'system:connectors';
export const connectorUserName = (cluster: string): string => `system:connector:${cluster}`;

/** The connector writes its status at this interval. */
export const RENEW_SECONDS = 20;
/** Without a newer `status.renewTime` it counts as not connected. */
export const LOST_SECONDS = 60;
/** Within this time the connector must have claimed an order, and answered. */
export const ORDER_SECONDS = 15;

/** RFC 8725 section 3.11: no verifier of tokens takes an order for one. */
export const ORDER_TYPE = 'clusterpass-order+jwt';

interface OrderedToken {
  /** Empty for the API of the cluster. */
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
}

export interface AccountOrder extends OrderedToken {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly boundObjectRef?: BoundObjectReference;
}

export interface PersonOrder extends OrderedToken {
  readonly name: string;
  readonly group: string;
}

/** The payload of `spec.order`. It has no `sub`: every token has one. */
export interface OrderClaims {
  readonly iss: string;
  readonly aud: string;
  readonly iat: number;
  readonly exp: number;
  /** The name of the TokenOrder. */
  readonly jti: string;
  /** `id`: the UID of its namespace `kube-system`, if it is known. */
  readonly cluster: { readonly name: string; readonly uid: string; readonly id?: string };
  readonly requester: { readonly user: string; readonly groups: readonly string[] };
  readonly request?: AccountOrder;
  readonly person?: PersonOrder;
  /** Bind the token to a Secret of the connector, if it can. */
  readonly revocable: boolean;
  /** The public JWK of the process that waits. */
  readonly answerKey: Readonly<Record<string, unknown>>;
}

/** The plaintext of `status.answer`. */
export interface OrderAnswer {
  /** The name of the order. */
  readonly order: string;
  /** What the API server answered: the HTTP status, and the TokenRequest or Status. */
  readonly status?: number;
  readonly body?: unknown;
  /** Why the connector refused it by its own rules. */
  readonly refusal?: { readonly reason: string; readonly message: string };
}

/** Of `status.answer` (RFC 7516). */
export const ANSWER_ALGORITHMS = { alg: 'ECDH-ES', enc: 'A256GCM' } as const;

/** The Secret that a revocable token is bound to, beside its account. */
export const passSecretName = (order: string): string => `clusterpass-pass-${order}`;

/** An API server keeps successful authentications so long, and refuses a token whose Secret is gone after that. */
export const SECRET_CACHE_SECONDS = 10;

/** The id of a token's record: of the order whose Secret it is bound to, or its own. */
export const recordIdOf = (claims: unknown): unknown =>
  withoutPrefix(memberOf(claims, 'kubernetes.io', 'secret', 'name'), passSecretName('')) ?? memberOf(claims, 'jti');

/** The namespace of the accounts that stand for the people of a group. */
export const peopleNamespace = (group: string): string => `clusterpass-people-${group}`;

/** The account that stands for a person: readable, and different for different names, chosen ones too. */
export function personAccountName(name: string): string {
  const readable = namePart(name);
  return `${readable === '' ? '' : `${readable}-`}${sha256(name).slice(0, 20)}`;
}
