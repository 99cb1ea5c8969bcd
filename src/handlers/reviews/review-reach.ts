import { clusterQuestion, type ResourceQuestion, userpassQuestion } from '../../api/authorization.ts';
import {
  accountGroups,
  accountUserName,
  FOREIGN_ACCOUNT,
  foreignAccountGroups,
  type Identity,
  type User,
} from '../../api/caller.ts';
import type { Decision } from '../../api/decision.ts';
import { type FieldError, invalid, invalidValue } from '../../api/field-error.ts';
import {
  type GrantPath,
  type ReachedAccount,
  type ReachedCluster,
  type SubjectReachReview,
  subjectReachReviewType,
} from '../../api/kinds/grant-reviews.ts';
import { collectionPrefix, kindPrefix } from '../../api/object-key.ts';
import type { ApiRequest } from '../../api/request.ts';
import { isSystemName } from '../../tokens/person-claims.ts';
import { grantPath, mayReadBinding } from './grant-path.ts';
import type { Review, ReviewParts } from './review.ts';

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 1_000;
/** Bounds the decisions and the answer of one request. The cluster that exceeds it is the last one of its page. */
const MAX_CHECKED = 20_000;

/**
 * What a subject reaches, cluster by cluster: those that it may get, passes for itself, and the accounts whose tokens
 * it may create. Shows only clusters that the caller may get, and only accounts that the caller may get or create
 * tokens of.
 */
export const reviewReach: Review = async (parts, request, sent) => {
  const { spec = {} } = sent as SubjectReachReview;
  const errors = specErrors(spec);
  if (errors.length > 0) throw invalid(subjectReachReviewType, '', errors);
  await parts.reader.catchUp();
  const review = new ReachReview(parts, request, subjectByCluster(spec));
  const status = await review.run(spec.limit ?? DEFAULT_LIMIT, spec.continue ?? '');
  return { metadata: {}, spec, status };
};

function specErrors({ user = '', groups = [], limit }: NonNullable<SubjectReachReview['spec']>): FieldError[] {
  const isNamed = user !== '' || groups.length > 0;
  const isInRange = limit === undefined || (limit >= 1 && limit <= MAX_LIMIT);
  return [
    ...(isNamed ? [] : [invalidValue('spec.user', user, 'at least one of user or group must be specified')]),
    ...(isInRange ? [] : [invalidValue('spec.limit', limit, `must be between 1 and ${MAX_LIMIT}`)]),
  ];
}

/** The name of an account at the fleet names its cluster; there it is the local account. */
function subjectByCluster({ user: name = '', groups = [] }: NonNullable<SubjectReachReview['spec']>): Identity {
  const [, home, namespace = '', account = ''] = FOREIGN_ACCOUNT.exec(name) ?? [];
  const user: User = { name, uid: '', groups, extra: {} };
  if (home === undefined) return { as: () => user };
  const local: User = {
    ...user,
    name: accountUserName(namespace, account),
    groups: [...accountGroups(namespace), ...groups],
  };
  const foreign: User = { ...user, groups: [...foreignAccountGroups(home), ...groups] };
  return { as: (cluster) => (cluster === home ? local : foreign) };
}

class ReachReview {
  readonly #parts: ReviewParts;
  readonly #request: ApiRequest;
  readonly #subject: Identity;
  #checked = 0;

  constructor(parts: ReviewParts, request: ApiRequest, subject: Identity) {
    this.#parts = parts;
    this.#request = request;
    this.#subject = subject;
  }

  async run(limit: number, after: string): Promise<{ clusters: ReachedCluster[]; continue?: string }> {
    const clusters: ReachedCluster[] = [];
    const { target, work } = this.#request;
    await work.turn();
    let last = after;
    for (const name of this.#clusterNames()) {
      if (name <= after || (target.cluster !== undefined && name !== target.cluster)) continue;
      if (work.isUsedUp) await work.turn();
      if (!this.#isSeen(name)) continue;
      // After the permission: neither the end of a page nor its cursor tells of clusters that the caller may not get.
      if (clusters.length >= limit || this.#checked >= MAX_CHECKED) return { clusters, continue: last };
      last = name;
      const reached = await this.#reachIn(name);
      const { visible, userpass, accounts } = reached;
      if (visible || userpass !== undefined || accounts.length > 0) clusters.push(reached);
    }
    return { clusters };
  }

  *#clusterNames(): Generator<string> {
    const { catalog, reader } = this.#parts;
    for (const { name } of reader.cache(catalog.clusters).snapshot.scan(kindPrefix(catalog.clusters))) yield name;
  }

  async #reachIn(cluster: string): Promise<ReachedCluster> {
    const seen = this.#decide(clusterQuestion('get', cluster));
    const userpass = this.#userpassIn(cluster);
    const accounts: ReachedAccount[] = [];
    const { catalog, reader } = this.#parts;
    const { snapshot } = reader.cache(catalog.serviceAccounts);
    for (const { namespace, name } of snapshot.scan(collectionPrefix(catalog.serviceAccounts, cluster, ''))) {
      if (this.#request.work.isUsedUp) await this.#request.work.turn();
      const token = aboutAccount(cluster, namespace, name, 'token');
      const decision = this.#decide(token);
      if (!decision.allowed) continue;
      if (!this.#callerMay(aboutAccount(cluster, namespace, name, '')) && !this.#callerMay(token)) continue;
      accounts.push({ namespace, name, ...this.#pathOf(decision) });
    }
    const own = userpass === undefined ? {} : { userpass };
    return { name: cluster, visible: seen.allowed, ...this.#pathOf(seen), ...own, accounts };
  }

  /** Accounts and other names of `system:` get none, whatever a rule allows. */
  #userpassIn(cluster: string): GrantPath | undefined {
    if (isSystemName(this.#subject.as(undefined).name)) return undefined;
    const decision = this.#decide(userpassQuestion(cluster));
    return decision.allowed ? this.#pathOf(decision) : undefined;
  }

  #decide(question: ResourceQuestion): Decision {
    this.#checked++;
    return this.#parts.authorizer.decide(this.#subject, question);
  }

  /** Not counted: a page that ended between clusters that the caller may not get could not say where. */
  #isSeen(cluster: string): boolean {
    return this.#parts.authorizer.decide(this.#request.caller, clusterQuestion('get', cluster)).allowed;
  }

  #callerMay(question: ResourceQuestion): boolean {
    this.#checked++;
    return this.#parts.authorizer.decide(this.#request.caller, question).allowed;
  }

  #pathOf({ grant }: Decision): GrantPath {
    if (grant === undefined || !mayReadBinding(this.#parts.authorizer, this.#request.caller, grant)) return {};
    return grantPath(grant);
  }
}

const aboutAccount = (
  cluster: string,
  namespace: string,
  name: string,
  subresource: '' | 'token',
): ResourceQuestion => ({
  verb: subresource === 'token' ? 'create' : 'get',
  group: '',
  resource: 'serviceaccounts',
  subresource,
  namespace,
  name,
  cluster,
});
