import { type ApiObject, apiVersionOf, fleetKey, type ObjectMeta, type VirtualType } from '../../api/kind.ts';
import { auditEventReviewType } from '../../api/kinds/audit-event-review.ts';
import {
  clusterGrantReviewType,
  resourceAccessReviewType,
  subjectReachReviewType,
} from '../../api/kinds/grant-reviews.ts';
import type { BodyOf } from '../../api/kinds/meta.ts';
import {
  localSubjectAccessReviewType,
  selfSubjectAccessReviewType,
  selfSubjectReviewType,
  selfSubjectRulesReviewType,
  subjectAccessReviewType,
} from '../../api/kinds/reviews.ts';
import { PASSES, type TokenFindings, type TokenReview, tokenReviewType } from '../../api/kinds/token-review.ts';
import { validateRepeatedPairs } from '../../api/names.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { badRequest, notFound, requireValid } from '../../api/status.ts';
import { defined } from '../../lib/json.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { Secret } from '../../observability/secret.ts';
import { parseCreateOptions } from '../options/write-options.ts';
import { PARTIAL_METADATA, partialMetadata } from '../representation.ts';
import { audienceErrors } from '../token/parse-token-request.ts';
import { checkNamespace, readBody } from '../write/read-body.ts';
import { type Review, type ReviewParts, userInfo } from './review.ts';
import { reviewLocalSubject, reviewSelfAccess, reviewSubject } from './review-access.ts';
import { reviewAuditEvents } from './review-audit-events.ts';
import { reviewClusterGrants, reviewReach } from './review-reach.ts';
import { reviewResource } from './review-resource.ts';

/**
 * K-40, K-41, K-43: a refused token is an answer, not an error. It is an error when the answer is unknown: while the
 * store does not answer, or the caches are behind it, the token may have been revoked or its pod deleted (B12).
 */
export const reviewToken: Review = async ({ catalog, reader, reviewToken: review }, { target }, sent) => {
  const { metadata = {}, spec = {} } = sent as TokenReview;
  const { token = '', audiences = [] } = spec;
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  // No token has an audience beyond these bounds. kube-apiserver has no bounds.
  requireValid(tokenReviewType, '', [...audienceErrors(audiences), ...validateRepeatedPairs(metadata)]);
  const { cluster } = target;
  await reader.catchUp();
  if (cluster !== undefined && reader.find(catalog.clusters, fleetKey(cluster)) === undefined)
    throw notFound(catalog.clusters, cluster);
  return {
    metadata: callerFields(metadata),
    status: statusOf(await review(new Secret(token), { cluster, audiences, passesOnly: target.name === PASSES })),
  };
};

/** K-41: false fields are omitted, and an unknown user is an empty object. */
function statusOf(findings: TokenFindings): object {
  if (!findings.authenticated) return { user: {}, error: findings.error };
  const { user, audiences } = findings;
  return { authenticated: true, user: userInfo(user), ...(audiences.length === 0 ? {} : { audiences }) };
}

/** Returns the metadata that callers may set, not the fields that a server sets. */
const callerFields = ({ name, generateName, labels, annotations }: ObjectMeta): ObjectMeta =>
  defined({ name, generateName, labels, annotations });

/** Who the caller is under this path. */
const reviewSelf: Review = ({ now }, { caller, target }) => ({
  metadata: { creationTimestamp: toTimestamp(now()) },
  status: { userInfo: userInfo(caller.as(target.cluster)) },
});

const RESTRICTED = 'rules that hold in some clusters only are not listed here, but below the path of each cluster';

const SHORTENED = 'there are more rules than are listed';

const NEEDS_APPROVAL =
  'a FleetRoleBinding with spec.approval.by: ApproverAlways gives tokens, bind, escalate and impersonate only with an approval: ' +
  'these are not listed, and a * of that binding does not include them; ask for a pass with "clusterpass pass request"';

/** The rules of the caller in one namespace: of the cluster of the path, or rules that hold in all clusters. */
const reviewRules: Review = ({ authorizer }, { caller, target }, sent) => {
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

const REVIEWS: ReadonlyMap<VirtualType, Review> = new Map<VirtualType, Review>([
  [selfSubjectReviewType, reviewSelf],
  [selfSubjectAccessReviewType, reviewSelfAccess],
  [subjectAccessReviewType, reviewSubject],
  [localSubjectAccessReviewType, reviewLocalSubject],
  [selfSubjectRulesReviewType, reviewRules],
  [resourceAccessReviewType, reviewResource],
  [subjectReachReviewType, reviewReach],
  [clusterGrantReviewType, reviewClusterGrants],
  [auditEventReviewType, reviewAuditEvents],
  [tokenReviewType, reviewToken],
]);

export type CreateReview = (request: ApiRequest, type: VirtualType) => Promise<ApiResponse>;

/** Reviews of permissions are answered from the rules alone, so they do not reveal whether a cluster exists. */
export function createReviewHandler(parts: ReviewParts): CreateReview {
  return async (request, type) => {
    const answer = REVIEWS.get(type);
    if (answer === undefined) throw new Error(`no handler for ${type.kind}`);
    const { fieldValidation } = parseCreateOptions(request.query);
    const value = readBody(request, type, fieldValidation);
    checkNamespace(value, type, request.target.namespace);
    const asked = type.shape.byName.has('spec') ? { spec: value.spec ?? {} } : {};
    const answered = { metadata: {}, ...asked, ...(await answer(parts, request, value)) };
    const review: ApiObject = { kind: type.kind, apiVersion: apiVersionOf(type), ...answered };
    if (request.accept.as === 'object') return { type: 'value', code: 201, value: review, schema: type };
    return { type: 'value', code: 201, value: partialMetadata(review), schema: PARTIAL_METADATA };
  };
}
