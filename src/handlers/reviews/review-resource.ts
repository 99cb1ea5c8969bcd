import {
  ASKED_AT_ANOTHER_CLUSTER,
  clusterQuestion,
  isAskedAtAnotherCluster,
  type PathQuestion,
  type ResourceQuestion,
} from '../../api/authorization.ts';
import { ACCOUNT_PREFIX, MASTERS, SERVICE_ACCOUNTS_GROUP } from '../../api/caller.ts';
import type { BoundSubject, FoundGrant } from '../../api/decision.ts';
import { type FieldError, invalid, invalidValue } from '../../api/field-error.ts';
import {
  type GrantedSubject,
  type ResourceAccessReview,
  resourceAccessReviewType,
} from '../../api/kinds/grant-reviews.ts';
import { defined } from '../../lib/json.ts';
import { sortedBy } from '../../lib/sorted-by.ts';
import { completeness, grantPath, hiddenBindings, MAX_SUBJECTS, mayReadBinding, shownSubject } from './grant-path.ts';
import type { Review } from './review.ts';
import { attributeErrors, questionIn } from './review-access.ts';

const NOT_SEEN = 'the labels of a cluster that you may not get do not count';
const SHORTENED = 'there are more subjects than are listed';

/**
 * Who can: the subjects of all bindings that allow something. Under the path of a cluster the question is about that
 * cluster; at the fleet it is about no cluster, unless it names a Cluster object. The caller sees the bindings that it
 * may read. `incomplete` depends on the caller's permissions and the number of visible subjects, so it does not reveal
 * hidden bindings. The labels of a cluster do not count for a caller who may not get it: they would show in what holds.
 */
export const reviewResource: Review = async ({ authorizer }, request, sent) => {
  const { spec = {} } = sent as ResourceAccessReview;
  const { caller, target } = request;
  const errors = [...attributeErrors(spec), ...otherClusterErrors(spec, target.cluster)];
  if (errors.length > 0) throw invalid(resourceAccessReviewType, '', errors);
  const question = questionOf(spec, target.cluster);
  const cluster = 'path' in question ? undefined : question.cluster;
  const namespace = 'path' in question ? '' : question.namespace;
  const subjects: GrantedSubject[] = [];
  const { work } = request;
  await work.turn();
  let listed = 0;
  let isShortened = false;
  const isKnown = cluster === undefined || authorizer.decide(caller, clusterQuestion('get', cluster)).allowed;
  for (const grant of authorizer.grantsOf(question, { isKnown })) {
    if (work.isUsedUp) await work.turn();
    if (grant === undefined || !mayReadBinding(authorizer, caller, grant)) continue;
    // Each subject repeats the names of its role.
    listed += grant.subjects.length * (1 + (grant.resourceNames?.length ?? 0));
    isShortened = listed > MAX_SUBJECTS;
    if (isShortened) break;
    subjects.push(...subjectsOf(grant, cluster));
  }
  // P-19: they need no binding.
  const isMasters = ({ kind, name, resourceNames }: GrantedSubject): boolean =>
    kind === 'Group' && name === MASTERS && resourceNames === undefined;
  if (!subjects.some(isMasters)) {
    subjects.push({ kind: 'Group', name: MASTERS });
  }
  const hidden = hiddenBindings(authorizer, caller, namespace === '' ? undefined : namespace);
  const problems = [...hidden, ...(isKnown ? [] : [NOT_SEEN]), ...(isShortened ? [SHORTENED] : [])];
  return {
    metadata: {},
    spec,
    status: {
      subjects: sortedBy(subjects, sortKey),
      ...completeness(problems),
    },
  };
};

function otherClusterErrors({ resourceAttributes }: Asked, pathCluster: string | undefined): FieldError[] {
  const { group = '', resource = '', name = '' } = resourceAttributes ?? {};
  if (!isAskedAtAnotherCluster({ group, resource, name }, pathCluster)) return [];
  return [invalidValue('spec.resourceAttributes.name', name, ASKED_AT_ANOTHER_CLUSTER)];
}

type Asked = NonNullable<ResourceAccessReview['spec']>;

function questionOf(
  { resourceAttributes, nonResourceAttributes = {} }: Asked,
  pathCluster: string | undefined,
): ResourceQuestion | PathQuestion {
  if (resourceAttributes === undefined) {
    return { verb: nonResourceAttributes.verb ?? '', path: nonResourceAttributes.path ?? '' };
  }
  return questionIn(resourceAttributes, pathCluster);
}

const subjectsOf = (grant: FoundGrant, cluster: string | undefined): GrantedSubject[] =>
  grant.subjects
    .filter((subject) => cluster !== undefined || !isLocalAccount(subject))
    .map((subject) => ({
      ...shownSubject(subject),
      ...grantPath(grant),
      ...defined({ resourceNames: grant.resourceNames }),
    }));

/** Outside of a cluster no caller has these names: there an account is `system:cluster:…`. */
const isLocalAccount = ({ kind, name }: BoundSubject): boolean =>
  kind === 'user'
    ? name.startsWith(ACCOUNT_PREFIX)
    : name === SERVICE_ACCOUNTS_GROUP || name.startsWith(`${SERVICE_ACCOUNTS_GROUP}:`);

const sortKey = ({ kind, namespace, name, binding }: GrantedSubject): string =>
  JSON.stringify([kind, namespace ?? '', name, binding?.kind, binding?.namespace, binding?.name]);
