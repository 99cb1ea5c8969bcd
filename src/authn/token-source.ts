import type { Caller } from '../api/caller.ts';
import type { Secret } from '../observability/secret.ts';

/** One way of knowing a token. */
export interface TokenSource {
  /** Undefined: not mine, ask the next. Rejects when the token is mine and not accepted: then nobody else is asked. */
  find(token: Secret): Promise<Caller | undefined>;
}
