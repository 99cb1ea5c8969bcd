import { AUTHENTICATED, type Caller, type OAuthClient, type User } from '../api/caller.ts';

/** A caller who is the same user in every cluster: from a token file or an AuthenticationConfiguration. */
export function plainCaller(user: User, isLive: () => boolean, expiresAt?: number, oauthClient?: OAuthClient): Caller {
  return {
    as: () => user,
    home: undefined,
    // JSON quotes, so no separator can be forged: different users have different keys.
    key: JSON.stringify([null, user.name, user.uid, user.groups]),
    flow: `user ${user.name}`,
    expiresAt,
    oauthClient,
    dependsOn: [],
    isLive,
  };
}

/** Every authenticated user is in `system:authenticated`, last in the list as in Kubernetes. */
export const withAuthenticated = (groups: readonly string[]): readonly string[] =>
  groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED];
