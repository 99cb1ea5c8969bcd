/** Who is asking. Found in authn/, asked about in authz/, recorded in the audit trail. */

export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface Caller {
  /**
   * Who the caller is in a request about this cluster, or about the fleet itself (undefined).
   * A service account is a local one only at home: a namesake in another cluster has other rights.
   */
  as(cluster: string | undefined): User;
  /** The cluster in which `as` answers differently from everywhere else, if there is one. */
  readonly home: string | undefined;
  /**
   * Equal for two callers exactly when they have the same rights: names, uids and groups are alike, whatever the
   * cluster. Which of its credentials a caller used (`extra`) does not count: a renewed token is the same caller.
   */
  readonly key: string;
  /** When the credential stops being accepted (epoch milliseconds); undefined when it has no end. */
  readonly expiresAt: number | undefined;
  /** Storage keys of the objects whose appearance, deletion or replacement ends the credential. */
  readonly dependsOn: readonly string[];
  /** Whether the credential would still be accepted now. Looks only at memory. */
  isLive(): boolean;
}

export const AUTHENTICATED = 'system:authenticated';
export const MASTERS = 'system:masters';
