import {
  ASKED_AT_ANOTHER_CLUSTER,
  clusterQuestion,
  isAskedAtAnotherCluster,
  type PathQuestion,
  type ResourceQuestion,
} from '../../api/authorization.ts';
import { MASTERS } from '../../api/caller.ts';
import {
  type GrantedSubject,
  type ResourceAccessReview,
  resourceAccessReviewType,
} from '../../api/kinds/grant-reviews.ts';
import { type FieldError, forbiddenField, invalidValue, requireValid } from '../../api/status.ts';
import { completeness, hiddenBindings, rowsOf } from './grant-path.ts';
import type { Review } from './review.ts';
import { attributeErrors, questionIn } from './review-access.ts';

const NOT_SEEN = 'the labels of a cluster that you may not get do not count';
export const SHORTENED = 'there are more subjects than are listed';

/**
 * Who can: the subjects of all bindings that allow something or, with `reach`, that give anything in the cluster. Under
 * the path of a cluster the question is about that cluster; at the fleet it is about no cluster, unless it names a
 * Cluster object. The caller sees the bindings that it may read. `incomplete` depends on the caller's permissions and
 * the number of visible subjects, so it does not reveal hidden bindings. The labels of a cluster do not count for a
 * caller who may not get it: they would show in what holds.
 */
export const reviewResource: Review = async ({ authorizer }, request, sent) => {
  const { spec = {} } = sent as ResourceAccessReview;
  const { caller, target } = request;
  const errors = spec.reach === true ? reachErrors(spec, target.cluster) : attributesErrors(spec, target.cluster);
  requireValid(resourceAccessReviewType, '', errors);
  const question = spec.reach === true ? undefined : questionOf(spec, target.cluster);
  // A path is about no cluster and no namespace.
  const { cluster, namespace } = { cluster: undefined, namespace: '', ...(question ?? { cluster: target.cluster }) };
  await request.work.turn();
  const isKnown = cluster === undefined || authorizer.decide(caller, clusterQuestion('get', cluster)).allowed;
  const found =
    question === undefined ? authorizer.reach()(cluster ?? '', isKnown) : authorizer.grantsOf(question, { isKnown });
  const { rows, isShortened } = await rowsOf({ authorizer }, request, found);
  // P-19: they need no binding.
  const isMasters = ({ kind, name, resourceNames }: GrantedSubject): boolean =>
    kind === 'Group' && name === MASTERS && resourceNames === undefined;
  const subjects = rows.some(isMasters) ? rows : [...rows, { kind: 'Group', name: MASTERS }];
  const hidden = hiddenBindings(authorizer, caller, question === undefined ? '' : namespace || undefined);
  const problems = [...hidden, ...(isKnown ? [] : [NOT_SEEN]), ...(isShortened ? [SHORTENED] : [])];
  return { status: { subjects, ...completeness(problems) } };
};

function reachErrors(spec: Asked, pathCluster: string | undefined): FieldError[] {
  if (pathCluster === undefined) return [invalidValue('spec.reach', true, 'is asked below the path of a cluster')];
  return (['resourceAttributes', 'nonResourceAttributes'] as const).flatMap((field) =>
    spec[field] === undefined ? [] : [forbiddenField(`spec.${field}`, 'cannot be specified in combination with reach')],
  );
}

function attributesErrors(spec: Asked, pathCluster: string | undefined): FieldError[] {
  const { group = '', resource = '', name = '' } = spec.resourceAttributes ?? {};
  const isElsewhere = isAskedAtAnotherCluster({ group, resource, name }, pathCluster);
  return [
    ...attributeErrors(spec),
    ...(isElsewhere ? [invalidValue('spec.resourceAttributes.name', name, ASKED_AT_ANOTHER_CLUSTER)] : []),
  ];
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
