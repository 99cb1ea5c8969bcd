import {
  type Actor,
  AUTHENTICATED,
  accountGroups,
  accountUserName,
  type Caller,
  CREDENTIAL_ID,
  credentialIdOf,
  foreignAccountGroups,
  foreignAccountName,
  MCP_SCOPES,
  type OAuthClient,
  REQUESTED_BY,
  type User,
} from '../api/caller.ts';
import { PEOPLE_PREFIX } from '../api/pass-audience.ts';
import { withValue } from '../lib/promises.ts';
import { expiryOf, type NodeRef, type ObjectRef, type PersonClaims, type TokenClaims } from '../tokens/claims.ts';
import type { VerifiedToken, Verifier } from '../tokens/verifier.ts';
import { plainCaller, type TokenAuthenticator } from './token-authenticator.ts';

/**
 * The tokens that this server issued. Without audiences the verifier asks for the API audience of the token's own
 * cluster, so a token that was issued for a vault or a registry is no credential here.
 */
export function createIssuedTokenAuthenticator({
  verifier,
  mcpAudience,
}: {
  readonly verifier: Verifier;
  readonly mcpAudience?: string;
}): TokenAuthenticator {
  const callerOf = (verified: VerifiedToken | undefined): Caller | undefined =>
    verified && new IssuedCaller(verified, () => verifier.isLive(verified));
  return {
    async authenticateFor(token, audiences, cluster) {
      const verified = await verifier.verify(token, audiences, cluster);
      const caller = callerOf(verified);
      return verified && caller && { caller, audiences: verified.audiences };
    },
    authenticateToken(token) {
      return withValue(verifier.verify(token), callerOf);
    },
    async authenticateMcp(token) {
      if (mcpAudience === undefined) return undefined;
      const verified = await verifier.verify(token, [mcpAudience]);
      return verified?.claims.aud.length === 1 ? callerOf(verified) : undefined;
    },
  };
}

/** A service account. The users are made on demand: most requests ask for the user of one cluster only. */
class IssuedCaller implements Caller {
  readonly home: string;
  /** A cluster can have the name of a task of the server, or an address, which are flows too. */
  readonly flow: string;
  readonly expiresAt: number;
  readonly isLive: () => boolean;
  readonly #claims: TokenClaims;
  readonly #dependencies: VerifiedToken['dependencies'];
  #local: User | undefined;
  #foreign: User | undefined;
  #key: string | undefined;

  constructor({ cluster, claims, dependencies }: VerifiedToken, isLive: () => boolean) {
    this.home = cluster;
    this.flow = `cluster ${cluster}`;
    this.expiresAt = expiryOf(claims);
    this.isLive = isLive;
    this.#claims = claims;
    this.#dependencies = dependencies;
  }

  as(cluster: string | undefined): User {
    if (cluster === this.home) {
      this.#local ??= userAtHome(this.#claims);
      return this.#local;
    }
    this.#foreign ??= userElsewhere(this.home, this.#claims);
    return this.#foreign;
  }

  /** Both users follow from these four. None contains a slash, and no other caller's key starts like this one. */
  get key(): string {
    const { namespace, serviceaccount } = this.#claims['kubernetes.io'];
    this.#key ??= `serviceaccount/${this.home}/${namespace}/${serviceaccount.name}/${serviceaccount.uid}`;
    return this.#key;
  }

  get actor(): Actor | undefined {
    return this.#claims.act;
  }

  /** An agent with its own account is its own client. It has no scopes to be narrowed by: RBAC decides. */
  get oauthClient(): OAuthClient {
    return { id: this.as(undefined).name, scopes: Object.values(MCP_SCOPES) };
  }

  get dependsOn(): readonly string[] {
    return this.#dependencies.map(({ key }) => key);
  }
}

/** For the audit trail, so it is the same in every cluster. */
const credentialId = ({ jti, act }: TokenClaims | PersonClaims): User['extra'] => ({
  [CREDENTIAL_ID]: [credentialIdOf(jti)],
  ...(act === undefined ? {} : { [REQUESTED_BY]: requesters(act) }),
});

/** The newest first, as in the file that `clusterpass trust` writes. */
function requesters(actor: Actor): readonly string[] {
  const names: string[] = [];
  for (let at: Actor | undefined = actor; at !== undefined; at = at.act) names.push(at.sub);
  return names;
}

/** K-30, K-31. */
function userAtHome(claims: TokenClaims): User {
  const { namespace, serviceaccount, pod, node } = claims['kubernetes.io'];
  return {
    name: accountUserName(namespace, serviceaccount.name),
    uid: serviceaccount.uid,
    groups: accountGroups(namespace),
    extra: pod === undefined ? credentialId(claims) : { ...credentialId(claims), ...podExtra(pod, node) },
  };
}

const podExtra = (pod: ObjectRef, node: NodeRef | undefined): User['extra'] => ({
  'authentication.kubernetes.io/pod-name': [pod.name],
  'authentication.kubernetes.io/pod-uid': [pod.uid],
  ...(node === undefined ? {} : { 'authentication.kubernetes.io/node-name': [node.name] }),
  ...(node?.uid === undefined ? {} : { 'authentication.kubernetes.io/node-uid': [node.uid] }),
});

function userElsewhere(cluster: string, claims: TokenClaims): User {
  const { namespace, serviceaccount } = claims['kubernetes.io'];
  return {
    name: foreignAccountName(cluster, namespace, serviceaccount.name),
    uid: serviceaccount.uid,
    groups: foreignAccountGroups(cluster),
    extra: credentialId(claims),
  };
}

/**
 * Passes for people, in reviews that name their audience. A review without audiences is about the API of this server
 * or of a cluster for accounts, which a pass for a person does not open. The prefix comes before names and groups, as
 * in the file of `clusterpass trust --people`.
 */
export const createPeopleAuthenticator = (verifier: Verifier<PersonClaims>): TokenAuthenticator => ({
  // This server accepts none as a bearer token: its holder has the credential that it was requested with.
  authenticateToken: () => undefined,
  async authenticateFor(token, audiences, cluster) {
    if (audiences.length === 0) return undefined;
    const verified = await verifier.verify(token, audiences, cluster);
    if (verified === undefined) return undefined;
    const caller: Caller = plainCaller(userOf(verified.claims), () => verifier.isLive(verified));
    return { caller, audiences: verified.audiences };
  },
});

const userOf = (claims: PersonClaims): User => ({
  name: `${PEOPLE_PREFIX}${claims.sub}`,
  uid: '',
  groups: [...(claims.groups ?? []).map((group) => `${PEOPLE_PREFIX}${group}`), AUTHENTICATED],
  extra: credentialId(claims),
});
