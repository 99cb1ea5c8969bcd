import type { User } from '../api/caller.ts';
import type { Secret } from '../observability/secret.ts';
import { plainCaller, type TokenAuthenticator } from './token-authenticator.ts';

/** One token that always authenticates the same user, without a file. */
export function createFixedTokenAuthenticator(token: Secret, user: User): TokenAuthenticator {
  const digest = token.digest();
  const caller = plainCaller(user, () => true);
  return { authenticateToken: (candidate) => (candidate.digest() === digest ? caller : undefined) };
}
