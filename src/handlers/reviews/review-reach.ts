import { clusterQuestion } from '../../api/authorization.ts';
import {
  accountGroups,
  accountUserName,
  FOREIGN_ACCOUNT,
  foreignAccountGroups,
  type Identity,
  type User,
} from '../../api/caller.ts';
import { kindPrefix } from '../../api/kind.ts';
import {
  type ClusterGrant,
  type ClusterGrantReview,
  type ReachedCluster,
  type SubjectReachReview,
  subjectReachReviewType,
} from '../../api/kinds/grant-reviews.ts';
import { badRequest, type FieldError, invalidValue, requireValid } from '../../api/status.ts';
import { sortedBy } from '../../lib/sorted-by.ts';
import {
  completeness,
  grantPath,
  hiddenBindings,
  MAX_SUBJECTS,
  mayReadBinding,
  rowsOf,
  shownSubject,
} from './grant-path.ts';
import type { Review } from './review.ts';
import { SHORTENED } from './review-resource.ts';

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 1_000;
/** Bounds the work and the answer of one request. The cluster that exceeds it is the last one of its page. */
const MAX_CHECKED = 20_000;

/** What a subject reaches, cluster by cluster. Shows only clusters and bindings that the caller may get. */
export const reviewReach: Review = async (parts, request, sent) => {
  const { spec = {} } = sent as SubjectReachReview;
  requireValid(subjectReachReviewType, '', specErrors(spec));
  const { authorizer, catalog, reader } = parts;
  const { caller, target, work } = request;
  const { limit = DEFAULT_LIMIT, continue: after = '' } = spec;
  await reader.catchUp();
  await work.turn();
  const reachIn = authorizer.reach(subjectByCluster(spec));
  const clusters: ReachedCluster[] = [];
  const problems = hiddenBindings(authorizer, caller, '');
  const answer = (more: { continue?: string }) => ({
    status: { clusters, ...more, ...completeness([...new Set(problems)]) },
  });
  let [checked, last] = [0, after];
  for (const { name } of reader.cache(catalog.clusters).snapshot.scan(kindPrefix(catalog.clusters))) {
    if (name <= after || (target.cluster !== undefined && name !== target.cluster)) continue;
    if (work.isUsedUp) await work.turn();
    // Not counted: a page that ended between clusters that the caller may not get could not say where.
    if (!authorizer.decide(caller, clusterQuestion('get', name)).allowed) continue;
    // After the permission: neither the end of a page nor its cursor tells of clusters that the caller may not get.
    if (clusters.length >= limit || checked >= MAX_CHECKED) return answer({ continue: last });
    last = name;
    const { rows, isShortened, cost } = await rowsOf(parts, request, reachIn(name, true));
    if (isShortened) problems.push(SHORTENED);
    if (rows.length > 0) clusters.push({ name, subjects: rows });
    checked += cost;
  }
  return answer({});
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

/** Bounds one response, with the subjects of all. */
const MAX_GRANTS = 5_000;
/**
 * The bindings that hold in the cluster of the path, with its labels and with other ones. The caller sees the bindings
 * that it may read. The cluster need not exist. Nor do its labels count for a caller who may not get it: they would
 * show in what holds.
 */
export const reviewClusterGrants: Review = async ({ authorizer }, request, sent) => {
  const { spec = {} } = sent as ClusterGrantReview;
  const { caller, target } = request;
  const { cluster } = target;
  if (cluster === undefined) throw badRequest('a ClusterGrantReview is sent below the path of a cluster');
  const grants: ClusterGrant[] = [];
  const { work } = request;
  await work.turn();
  let isShortened = false;
  let subjects = 0;
  const isKnown = authorizer.decide(caller, clusterQuestion('get', cluster)).allowed;
  for (const found of authorizer.grantsIn({ cluster, isKnown, labels: spec.labels })) {
    if (work.isUsedUp) await work.turn();
    if (found === undefined || !mayReadBinding(authorizer, caller, found.grant)) continue;
    const { grant, before, after } = found;
    subjects += grant.subjects.length;
    isShortened = grants.length >= MAX_GRANTS || subjects > MAX_SUBJECTS;
    if (isShortened) break;
    grants.push({
      ...grantPath(grant),
      subjects: grant.subjects.map(shownSubject),
      change: before === after ? '' : after ? 'Begins' : 'Ends',
    });
  }
  const problems = [
    ...hiddenBindings(authorizer, caller, ''),
    ...(isShortened ? ['there are more bindings than are listed'] : []),
  ];
  return { status: { grants: sortedBy(grants, sortKey), ...completeness(problems) } };
};

const sortKey = ({ binding }: ClusterGrant): string =>
  JSON.stringify([binding?.kind, binding?.namespace ?? '', binding?.name]);
