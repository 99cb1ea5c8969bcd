import { requireValid } from '../../api/field-error.ts';
import type { ObjectMeta } from '../../api/kind.ts';
import { PASSES, type TokenFindings, type TokenReview, tokenReviewType } from '../../api/kinds/token-review.ts';
import { validateRepeatedPairs } from '../../api/names.ts';
import { fleetKey } from '../../api/object-key.ts';
import { badRequest, notFound } from '../../api/status.ts';
import { defined } from '../../lib/json.ts';
import { Secret } from '../../observability/secret.ts';
import { audienceErrors } from '../token/validate-token-request.ts';
import { type Review, userInfo } from './review.ts';

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
