/** The authenticated client of a request. authn/ makes it, authz/ decides about it, the audit log records it. */

export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** RFC 8693 section 4.1: who requested a credential; `act` is who requested the credential that was used for it. */
export interface Actor {
  readonly act?: Actor;
  /** The server at which `sub` is the name of a user. */
  readonly iss: string;
  readonly sub: string;
}

/** A program that acts for a caller. Its token names the program as the client. */
export interface Agent {
  /** The id of its client, as the token says. */
  readonly id: string;
  /** What it calls itself. Never a reason for a decision. */
  readonly name: string;
}

/** The key in `extra` with the requesters of a pass, the newest first. */
export const REQUESTED_BY = 'clusterpass.dev/requested-by';

export interface Caller {
  /**
   * The user of a request about this cluster, or about the fleet itself (undefined). A service account is the local
   * account only in its home cluster: an account of the same name in another cluster has other permissions.
   */
  as(cluster: string | undefined): User;
  /** The only cluster for which `as` returns another user; undefined when there is none. */
  readonly home: string | undefined;
  /**
   * Equal for two callers exactly when names, uids and groups are equal, for every cluster. The credential (`extra`)
   * does not count: a renewed token is the same caller.
   */
  readonly key: string;
  /**
   * Callers with equal flows share one part of the server's capacity: callers with the same user name, and the service
   * accounts of one cluster. Otherwise a person who can create tokens for many accounts would have many parts.
   */
  readonly flow: string;
  /** The requester of the credential, from the `act` claim of a pass. */
  readonly actor?: Actor | undefined;
  /** Of a token of an identity provider, and of a pass for the MCP endpoint. */
  readonly oauthClient?: OAuthClient | undefined;
  /** True for the admin token: operators share it, so it is not the credential of a person. */
  readonly isShared?: boolean;
  /** The id of the bootstrap token, if that is the credential. It may register one cluster and nothing else. */
  readonly bootstrapToken?: string;
  /** The cluster of a connector. It may do what connectors do in their cluster, beside what bindings allow it. */
  readonly connector?: string;
  /** When the credential expires (epoch milliseconds); undefined when it does not. */
  readonly expiresAt: number | undefined;
  /** Storage keys of the objects whose creation, deletion or replacement invalidates the credential. */
  readonly dependsOn: readonly string[];
  /** Whether the credential would be accepted now. Reads memory only. */
  isLive(): boolean;
  /**
   * The caller who authenticated, when this one is impersonated. Permissions are those of the impersonated user; limits
   * and records of who requested something are those of the impersonator.
   */
  readonly impersonator?: Caller;
}

/** What a token says of the OAuth client that it was issued to. */
export interface OAuthClient {
  readonly id: string | undefined;
  readonly scopes: readonly string[];
}

/** MC-45. RBAC decides; a scope only narrows what a token for the MCP endpoint can be used for. */
export const MCP_SCOPES = { read: 'clusterpass:read', pass: 'clusterpass:pass' } as const;
export type McpScope = (typeof MCP_SCOPES)[keyof typeof MCP_SCOPES];

/** What decisions need of a caller. */
export type Identity = Pick<Caller, 'as' | 'actor' | 'impersonator' | 'connector'>;

/** Whether an agent requested the credential, or another one that was used for it. */
export function isAgent({ actor, impersonator }: Identity): boolean {
  for (let at = actor; at !== undefined; at = at.act) if (at.sub.startsWith(AGENT_PREFIX)) return true;
  return impersonator !== undefined && isAgent(impersonator);
}

export const AUTHENTICATED = 'system:authenticated';
export const MASTERS = 'system:masters';
export const ANONYMOUS = 'system:anonymous';
export const UNAUTHENTICATED = 'system:unauthenticated';
const SERVICE_ACCOUNTS_GROUP = 'system:serviceaccounts';

/** The user names of service accounts in their cluster begin with it. */
export const ACCOUNT_PREFIX = 'system:serviceaccount:';

/** The user name of a service account in its cluster, and the subject of its tokens. */
export const accountUserName = (namespace: string, name: string): string => `${ACCOUNT_PREFIX}${namespace}:${name}`;

/** The groups of a service account in its cluster (K-30). */
export const accountGroups = (namespace: string): readonly string[] => [
  SERVICE_ACCOUNTS_GROUP,
  `${SERVICE_ACCOUNTS_GROUP}:${namespace}`,
  AUTHENTICATED,
];

/**
 * In another cluster, and in requests about the fleet, the user name contains the cluster of the account: an account
 * must not have the rights of an account of the same name in another cluster. Names of clusters, namespaces and
 * accounts contain no colon, so no two accounts share such a name.
 */
export const FOREIGN_ACCOUNT_PREFIX = 'system:cluster:';
/** Before the id of an OAuth client in the `act` claim. No person has a name that starts with it. */
export const AGENT_PREFIX = 'agent:';

export const foreignAccountName = (cluster: string, namespace: string, name: string): string =>
  `${FOREIGN_ACCOUNT_PREFIX}${cluster}:serviceaccount:${namespace}:${name}`;

/** Cluster, namespace and name. */
export const FOREIGN_ACCOUNT = /^system:cluster:([^:]+):serviceaccount:([^:]+):([^:]+)$/;
const FOREIGN_ACCOUNTS = /^system:cluster:([^:]+):serviceaccounts$/;

/** The groups of a service account outside of its cluster. */
export const foreignAccountGroups = (cluster: string): readonly string[] => [
  `${FOREIGN_ACCOUNT_PREFIX}${cluster}:serviceaccounts`,
  AUTHENTICATED,
];

/**
 * Where no caller has a name that a binding names, because it is one of accounts: `""` outside of clusters, for one of
 * accounts in their own cluster, else that cluster. Undefined for other names.
 */
export function absentIn(kind: 'user' | 'group', name: string): string | undefined {
  const isLocal =
    kind === 'user' ? name.startsWith(ACCOUNT_PREFIX) : `${name}:`.startsWith(`${SERVICE_ACCOUNTS_GROUP}:`);
  return isLocal ? '' : (kind === 'user' ? FOREIGN_ACCOUNT : FOREIGN_ACCOUNTS).exec(name)?.[1];
}

/** Names of users and groups that belong to Kubernetes. They are never in a pass for a person. */
export const isSystemName = (name: string): boolean => name.startsWith('system:');

/** Ids of credentials in the audit trail and in the `extra` of a user: the keys and the spelling of kube-apiserver. */

/** The credential that a caller uses (K-31). */
export const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';
export const ISSUED_CREDENTIAL_ID = 'authentication.kubernetes.io/issued-credential-id';
export const REVOKED_CREDENTIAL_ID = 'clusterpass.dev/revoked-credential-id';
/** The credentials that ended with a pass, separated by commas. */
export const REVOKED_CREDENTIAL_IDS = 'clusterpass.dev/revoked-credential-ids';

export const credentialIdOf = (jti: string): string => `JTI=${jti}`;

/** The `jti` of a credential id. */
export const jtiIn = (credentialId: string): string => credentialId.replace(/^JTI=/, '');

/** A UUID has 36 characters (RFC 9562); identity providers have longer ids. */
const RECORDED_JTI = /^[A-Za-z0-9][A-Za-z0-9._:@~+/=-]{0,127}$/;

/**
 * Whether a `jti` that another server chose may be recorded: short, without spaces, quotes and characters that a log or
 * a terminal would interpret.
 */
export const isRecordableJti = (value: unknown): value is string =>
  typeof value === 'string' && RECORDED_JTI.test(value);
