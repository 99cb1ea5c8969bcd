import type { Caller } from '../api/caller.ts';
import type { Secret } from '../observability/secret.ts';

/** One way of knowing a token. */
export interface TokenSource {
  /** Undefined: not mine, ask the next. Rejects when the token is mine and not accepted: then nobody else is asked. */
  find(token: Secret): Promise<Caller | undefined> | Caller | undefined;
  /**
   * For tokens that say who they are for: as `find`, for whoever the audiences name, and in one cluster if it is
   * given. A source without it knows tokens that are for this service and nobody else.
   */
  findFor?(token: Secret, audiences: readonly string[], cluster: string | undefined): Promise<Addressed | undefined>;
}

export interface Addressed {
  readonly caller: Caller;
  /** Those of the audiences asked about that the token is for. */
  readonly audiences: readonly string[];
}
