import { AUTHENTICATED, type Caller, CREDENTIAL_ID, credentialIdOf, REQUESTED_BY, type User } from '../api/caller.ts';
import type { PersonClaims } from '../tokens/claims.ts';
import type { Verifier } from '../tokens/verifier.ts';
import { requesters } from './issued-token-authenticator.ts';
import { plainCaller, type TokenAuthenticator } from './token-authenticator.ts';

/**
 * Passes for people, in reviews that name their audience. A review without audiences is about the API of this server
 * or of a cluster for accounts, which a pass for a person does not open. The prefix comes before names and groups, as
 * in the file of `clusterpass trust --people`.
 */
export const createPeopleAuthenticator = (verifier: Verifier<PersonClaims>, prefix: string): TokenAuthenticator => ({
  // This server accepts none as a bearer token: its holder has the credential that it was requested with.
  authenticateToken: () => undefined,
  async authenticateFor(token, audiences, cluster) {
    if (audiences.length === 0) return undefined;
    const verified = await verifier.verify(token, audiences, cluster);
    if (verified === undefined) return undefined;
    const caller: Caller = plainCaller(userOf(verified.claims, prefix), () => verifier.isLive(verified));
    return { caller, audiences: verified.audiences };
  },
});

const userOf = ({ sub, groups = [], jti, act }: PersonClaims, prefix: string): User => ({
  name: `${prefix}${sub}`,
  uid: '',
  groups: [...groups.map((group) => `${prefix}${group}`), AUTHENTICATED],
  extra: {
    [CREDENTIAL_ID]: [credentialIdOf(jti)],
    ...(act === undefined ? {} : { [REQUESTED_BY]: requesters(act) }),
  },
});
