import type { BodyOf } from '../../api/kinds/meta.ts';
import type { selfSubjectRulesReviewType } from '../../api/kinds/reviews.ts';
import { badRequest } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { type Review, userInfo } from './review.ts';

/** Who the caller is under this path. */
export const reviewSelf: Review = ({ now }, { caller, target }) => ({
  metadata: { creationTimestamp: toTimestamp(now()) },
  status: { userInfo: userInfo(caller.as(target.cluster)) },
});

const RESTRICTED = 'rules that hold in some clusters only are not listed here, but below the path of each cluster';

const SHORTENED = 'there are more rules than are listed';

const NEEDS_APPROVAL =
  'a FleetRoleBinding with spec.approval.by: ApproverAlways gives tokens, bind, escalate and impersonate only with an approval: ' +
  'these are not listed, and a * of that binding does not include them; ask for a pass with "clusterpass pass request"';

/** The rules of the caller in one namespace: of the cluster of the path, or rules that hold in all clusters. */
export const reviewRules: Review = ({ authorizer }, { caller, target }, sent) => {
  const { namespace = '' } = (sent as BodyOf<typeof selfSubjectRulesReviewType>).spec ?? {};
  if (namespace === '') throw badRequest('no namespace on request');
  const rules = authorizer.rulesFor(caller, { cluster: target.cluster, namespace });
  const texts = [
    rules.reason,
    rules.restricted ? RESTRICTED : '',
    rules.shortened ? SHORTENED : '',
    rules.needsApproval ? NEEDS_APPROVAL : '',
  ];
  const problems = texts.filter((text) => text !== '');
  return {
    // Kubernetes does not repeat the spec.
    spec: {},
    status: {
      resourceRules: rules.resourceRules.map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        ...unlessEmpty({ apiGroups, resources, resourceNames }),
      })),
      nonResourceRules: rules.nonResourceRules.map(({ verbs, nonResourceURLs }) => ({
        verbs,
        ...unlessEmpty({ nonResourceURLs }),
      })),
      incomplete: rules.restricted || rules.shortened || rules.needsApproval,
      ...(problems.length === 0 ? {} : { evaluationError: problems.join('; ') }),
    },
  };
};

const unlessEmpty = (lists: Readonly<Record<string, readonly string[]>>): Record<string, readonly string[]> =>
  Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
