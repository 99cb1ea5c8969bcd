import { AUTHENTICATED, type Caller, type User } from '../api/caller.ts';
import { storageKey } from '../api/object-key.ts';
import { subjectOf } from '../tokens/claims.ts';
import { NOT_MINE, type NotMine } from '../tokens/token-rejected.ts';
import type { Verified, Verifier } from '../tokens/verifier.ts';
import { userKey } from './plain-caller.ts';
import type { TokenSource } from './token-authenticator.ts';

/**
 * The tokens this service issued, when they are addressed to it: without audiences the verifier asks for the API
 * audience of the token's own cluster. A token made for a vault or a registry is no way in here.
 */
export function createIssuedTokens({ verifier }: { verifier: Verifier }): TokenSource {
  /** Whoever asks again with the same token is the same caller: who that is need not be worked out again. */
  const callers = new WeakMap<Verified, Caller>();

  function callerOf(verified: Verified | NotMine): Caller | undefined {
    if (verified === NOT_MINE) return undefined;
    const known = callers.get(verified);
    if (known !== undefined) return known;
    const caller = new IssuedCaller(verified, () => verifier.isLive(verified));
    callers.set(verified, caller);
    return caller;
  }

  return {
    async findFor(token, audiences, cluster) {
      const verified = await verifier.verify(token, audiences, cluster);
      const caller = callerOf(verified);
      return caller && verified !== NOT_MINE ? { caller, audiences: verified.audiences } : undefined;
    },
    find(token) {
      const verified = verifier.verify(token);
      return verified instanceof Promise ? verified.then(callerOf) : callerOf(verified);
    },
  };
}

/** Most requests ask only who somebody is in one cluster: the rest is made for those who ask for it. */
class IssuedCaller implements Caller {
  readonly home: string;
  readonly expiresAt: number;
  readonly isLive: () => boolean;
  readonly #verified: Verified;
  #local: User | undefined;
  #foreign: User | undefined;
  #key: string | undefined;

  constructor(verified: Verified, isLive: () => boolean) {
    this.home = verified.cluster;
    this.expiresAt = verified.expiresAt;
    this.isLive = isLive;
    this.#verified = verified;
  }

  as(cluster: string | undefined): User {
    if (cluster === this.home) {
      this.#local ??= userAtHome(this.#verified);
      return this.#local;
    }
    this.#foreign ??= userElsewhere(this.#verified);
    return this.#foreign;
  }

  get key(): string {
    this.#key ??= JSON.stringify([this.home, userKey(this.as(this.home)), userKey(this.as(undefined))]);
    return this.#key;
  }

  get dependsOn(): readonly string[] {
    return dependencies(this.#verified);
  }
}

const EXTRA = 'authentication.kubernetes.io/';

/** The credential's id is for the audit trail, and good everywhere. */
const credentialId = ({ jti }: Verified) => ({ [`${EXTRA}credential-id`]: [`JTI=${jti}`] });

/** K-30, K-31. */
function userAtHome(verified: Verified): User {
  const { namespace, serviceAccount, pod, node } = verified;
  return {
    name: subjectOf(namespace, serviceAccount.name),
    uid: serviceAccount.uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, AUTHENTICATED],
    extra: {
      ...credentialId(verified),
      ...(pod === undefined ? {} : { [`${EXTRA}pod-name`]: [pod.name], [`${EXTRA}pod-uid`]: [pod.uid] }),
      ...(node === undefined ? {} : { [`${EXTRA}node-name`]: [node.name] }),
      ...(node?.uid === undefined ? {} : { [`${EXTRA}node-uid`]: [node.uid] }),
    },
  };
}

/**
 * In another cluster, and at the level of the fleet, the same account goes by a name that says where it is from:
 * who may create accounts in one cluster must not inherit the rights of a namesake in another. Names of clusters,
 * namespaces and accounts contain no colon, so no two accounts share such a name.
 */
function userElsewhere(verified: Verified): User {
  const { cluster, namespace, serviceAccount } = verified;
  return {
    name: `system:cluster:${cluster}:serviceaccount:${namespace}:${serviceAccount.name}`,
    uid: serviceAccount.uid,
    groups: [`system:cluster:${cluster}:serviceaccounts`, AUTHENTICATED],
    extra: credentialId(verified),
  };
}

const resourceScope = (resource: string, inCluster: boolean, namespaced: boolean) => ({
  resource,
  inCluster,
  namespaced,
});
const CLUSTERS = resourceScope('clusters', false, false);
const REVOKED_TOKENS = resourceScope('revokedtokens', false, false);
const NAMESPACES = resourceScope('namespaces', true, false);
const SERVICE_ACCOUNTS = resourceScope('serviceaccounts', true, true);
const PODS = resourceScope('pods', true, true);
const SECRETS = resourceScope('secrets', true, true);

/** What exists ends the credential by going away, and its revocation by appearing. */
function dependencies({ cluster, namespace, serviceAccount, pod, secret, jti }: Verified): readonly string[] {
  const inside = (name: string) => ({ cluster, namespace, name });
  return [
    storageKey(REVOKED_TOKENS, { cluster: '', namespace: '', name: jti }),
    storageKey(CLUSTERS, { cluster: '', namespace: '', name: cluster }),
    storageKey(NAMESPACES, { cluster, namespace: '', name: namespace }),
    storageKey(SERVICE_ACCOUNTS, inside(serviceAccount.name)),
    ...(pod === undefined ? [] : [storageKey(PODS, inside(pod.name))]),
    ...(secret === undefined ? [] : [storageKey(SECRETS, inside(secret.name))]),
  ];
}
