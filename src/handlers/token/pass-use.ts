import type { ApiRequest, ApiResponse } from '../../api/request.ts';

/** What allows a token, where that bounds how long it lasts. Absent: nothing does. */
export interface TokenGrant {
  /** When the permission ends: epoch milliseconds. */
  readonly permissionEndsAt?: number | undefined;
  /** The most that the permission allows. */
  readonly maxPassSeconds?: number | undefined;
  /** The pass that is redeemed. */
  readonly pass?: PassUse | undefined;
}

/** A token for a pass. */
export interface PassUse {
  /** Epoch milliseconds: no token outlives the pass. */
  readonly endsAt: number;
  /** The agent, for the claim `act`. */
  readonly agent: string | undefined;
  /** Whether the pass could be for this cluster as well. */
  readonly mayIn: (cluster: string) => boolean;
  /**
   * Stores the id with the pass, before the token leaves. `expiresAt`: epoch milliseconds. A token that its cluster has
   * issued is not `ours`: its id is the word of that cluster, and may be the id of a token of another.
   */
  readonly recordToken: (id: string | undefined, expiresAt: number, issuer: 'ours' | 'cluster') => Promise<void>;
}

export type IssueToken = (request: ApiRequest, grant?: TokenGrant) => Promise<ApiResponse>;
