import { AUTHENTICATED, type Caller, type User } from '../api/caller.ts';

/** A caller who is the same in every cluster: a person or a program from a token file or an identity provider. */
export function plainCaller(user: User, isLive: () => boolean, expiresAt?: number): Caller {
  return {
    as: () => user,
    home: undefined,
    key: JSON.stringify([null, userKey(user)]),
    expiresAt,
    dependsOn: [],
    isLive,
  };
}

/** A user as a JSON value in which no two different users look alike: JSON quotes, so no separator can be forged. */
export const userKey = (user: User): unknown => [user.name, user.uid, user.groups];

/** Whoever proved who they are is in `system:authenticated`, last in the list as in Kubernetes. */
export const withAuthenticated = (groups: readonly string[]): readonly string[] =>
  groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED];
