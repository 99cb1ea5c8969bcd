import { clusterQuestion } from '../../api/authorization.ts';
import type { ClusterGrant, ClusterGrantReview } from '../../api/kinds/cluster-grant-review.ts';
import { badRequest } from '../../api/status.ts';
import { sortedBy } from '../../lib/sorted-by.ts';
import { completeness, grantPath, hiddenBindings, MAX_SUBJECTS, mayReadBinding, shownSubject } from './grant-path.ts';
import type { Review } from './review.ts';

/** Bounds one response, with the subjects of all. */
const MAX_GRANTS = 5_000;
const SHORTENED = 'there are more bindings than are listed';

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
  const problems = [...hiddenBindings(authorizer, caller, ''), ...(isShortened ? [SHORTENED] : [])];
  return { status: { grants: sortedBy(grants, sortKey), ...completeness(problems) } };
};

const sortKey = ({ binding }: ClusterGrant): string =>
  JSON.stringify([binding?.kind, binding?.namespace ?? '', binding?.name]);
