import { type Authorizer, questionAbout, type ResourceQuestion } from '../api/authorization.ts';
import {
  ACCOUNT_PREFIX,
  ANONYMOUS,
  AUTHENTICATED,
  accountGroups,
  type Caller,
  foreignAccountGroups,
  foreignAccountName,
  UNAUTHENTICATED,
  type User,
} from '../api/caller.ts';
import type { Decision } from '../api/decision.ts';
import type { ObjectKey } from '../api/kind.ts';
import { isDns1123Label, isDns1123Subdomain } from '../api/names.ts';

/** The verb of the permission to act as another user, group, service account, uid or extra value. */
const IMPERSONATE = 'impersonate';
const AUTHENTICATION_GROUP = 'authentication.k8s.io';

type Impersonation =
  | { readonly allowed: true; readonly caller: Caller }
  | { readonly allowed: false; readonly question: ResourceQuestion; readonly decision: Decision };

/**
 * The caller of a request with `Impersonate-*` headers, as in kube-apiserver: each value of `wanted` needs the verb
 * `impersonate`. The permission is asked for in `cluster`, the cluster of the request (undefined at the fleet), so a
 * binding that is restricted to clusters allows it there only. See ADR 31.
 */
export function impersonate(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  wanted: User,
  cluster: string | undefined,
): Impersonation {
  const account = splitAccount(wanted.name);
  // The fleet has no service accounts. There the name of one is the name of a user, with the bindings of the account in
  // every cluster, so the permission on the account is not enough.
  const questions = questionsOf(wanted, cluster === undefined ? undefined : account, cluster);
  for (const question of questions) {
    const decision = authorizer.decide(caller, question);
    if (!decision.allowed) return { allowed: false, question, decision };
  }
  const mayIn = (where: string | undefined): boolean =>
    questions.every((question) => authorizer.decide(caller, { ...question, cluster: where }).allowed);
  const user = withGroups(wanted, account);
  if (cluster === undefined) return { allowed: true, caller: sameEverywhere(caller, user, () => mayIn(undefined)) };
  if (account === undefined && mayIn(undefined)) {
    return { allowed: true, caller: sameEverywhere(caller, user, () => mayIn(cluster) && mayIn(undefined)) };
  }
  const elsewhere = account === undefined ? caller.as(undefined) : accountElsewhere(cluster, account);
  return { allowed: true, caller: localTo(cluster, caller, { user, elsewhere }, () => mayIn(cluster)) };
}

type Account = Pick<ObjectKey, 'namespace' | 'name'>;

/** The account of a user name; undefined for any other name, also for one that only begins like it (IMP-20). */
function splitAccount(userName: string): Account | undefined {
  if (!userName.startsWith(ACCOUNT_PREFIX)) return undefined;
  const [namespace = '', name = '', ...more] = userName.slice(ACCOUNT_PREFIX.length).split(':');
  const isValid = more.length === 0 && isDns1123Label(namespace).length === 0 && isDns1123Subdomain(name).length === 0;
  return isValid ? { namespace, name } : undefined;
}

/** In kube-apiserver's order: the first that is refused is the answer. */
function questionsOf(wanted: User, account: Account | undefined, cluster: string | undefined): ResourceQuestion[] {
  const ask = (group: string, resource: string, name: string, more: Partial<ResourceQuestion> = {}) =>
    questionAbout({ group, resource }, IMPERSONATE, { name, cluster, ...more });
  return [
    account === undefined
      ? ask('', 'users', wanted.name)
      : ask('', 'serviceaccounts', account.name, { namespace: account.namespace }),
    ...(wanted.uid === '' ? [] : [ask(AUTHENTICATION_GROUP, 'uids', wanted.uid)]),
    ...wanted.groups.map((group) => ask('', 'groups', group)),
    ...Object.entries(wanted.extra).flatMap(([subresource, values]) =>
      values.map((value) => ask(AUTHENTICATION_GROUP, 'userextras', value, { subresource })),
    ),
  ];
}

/** The groups of an account are known; every user but the anonymous one is authenticated (IMP-14 to IMP-16). */
function withGroups(wanted: User, account: Account | undefined): User {
  const { name, groups } = wanted;
  const own = groups.length === 0 && account !== undefined ? accountGroups(account.namespace) : groups;
  const added = name === ANONYMOUS ? UNAUTHENTICATED : AUTHENTICATED;
  const isComplete = own.includes(added) || own.includes(UNAUTHENTICATED);
  return { ...wanted, groups: isComplete ? own : [...own, added] };
}

const accountElsewhere = (cluster: string, { namespace, name }: Account): User => ({
  name: foreignAccountName(cluster, namespace, name),
  uid: '',
  groups: foreignAccountGroups(cluster),
  extra: {},
});

/** For an impersonation that is allowed in every cluster. `mayStill`: whether it would still be allowed. */
const sameEverywhere = (impersonator: Caller, user: User, mayStill: () => boolean): Caller => ({
  ...heldBy(impersonator, mayStill),
  as: () => user,
  home: undefined,
  key: JSON.stringify(['impersonated', impersonator.key, identity(user)]),
});

/** For one that is allowed in this cluster: elsewhere the caller is another user. */
const localTo = (
  cluster: string,
  impersonator: Caller,
  { user, elsewhere }: { readonly user: User; readonly elsewhere: User },
  mayStill: () => boolean,
): Caller => ({
  ...heldBy(impersonator, mayStill),
  as: (asked) => (asked === cluster ? user : elsewhere),
  home: cluster,
  key: JSON.stringify(['impersonated', impersonator.key, cluster, identity(user), identity(elsewhere)]),
});

const identity = ({ name, uid, groups }: User): unknown => [name, uid, groups];

/** An impersonation ends with the credential of the impersonator, and with its permission. */
const heldBy = (impersonator: Caller, mayStill: () => boolean): Omit<Caller, 'as' | 'home' | 'key'> => ({
  flow: impersonator.flow,
  expiresAt: impersonator.expiresAt,
  dependsOn: impersonator.dependsOn,
  isLive: () => impersonator.isLive() && mayStill(),
  impersonator,
});
