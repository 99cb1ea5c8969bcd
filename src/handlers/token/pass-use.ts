import type { ApiRequest, ApiResponse } from '../../api/request.ts';

/** A token for a pass. */
export interface PassUse {
  /** What is left of the pass: no token outlives it. */
  readonly seconds: number;
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

export type IssueToken = (request: ApiRequest, pass?: PassUse) => Promise<ApiResponse>;
