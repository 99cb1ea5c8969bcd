import { KEY_SET_MAX_AGE_SECONDS } from './ring-state.ts';

/** After this time every replica serves the key set without the revoked key. */
const SETTLED_MS = 2_000;

/**
 * The times at which every cluster is sent a token that no key verifies, for keys that were revoked at the given times.
 * All are epoch milliseconds.
 *
 * kube-apiserver verifies with the keys that it has, however old they are. A token that none of them verifies makes it
 * read the key set again, but only if its own is older than the `max-age` of the response, less 30 seconds (go-oidc v2,
 * RemoteKeySet). So the first token reaches the API servers whose key set is older than that. The others have read
 * theirs within `max-age` before the revocation: the second token reaches them.
 */
export const refreshTimes = (revocations: readonly number[]): number[] =>
  revocations.flatMap((at) => [at + SETTLED_MS, at + KEY_SET_MAX_AGE_SECONDS * 1000 + SETTLED_MS]);
