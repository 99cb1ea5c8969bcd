import type { ObjectMeta } from '../../api/kind.ts';
import type { TokenFindings, TokenReview } from '../../api/kinds/token-review.ts';
import { badRequest, notFound } from '../../api/status.ts';
import { Secret } from '../../observability/secret.ts';
import { type Review, userInfo } from './review.ts';

/**
 * K-40, K-41, K-43: a token that is not accepted is an answer, not an error. What can not be known is an error: while
 * the store does not answer, or the caches are behind it, the token may have been revoked, or its pod deleted,
 * and nobody is told that it is good, nor that it is bad (B12).
 */
export const reviewToken: Review = async ({ catalog, reader, reviewToken: review }, { target }, sent) => {
  const { metadata = {}, spec = {} } = sent as TokenReview;
  const { token = '', audiences = [] } = spec;
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const { cluster } = target;
  await reader.catchUp();
  if (
    cluster !== undefined &&
    reader.find(catalog.clusters, { cluster: '', namespace: '', name: cluster }) === undefined
  )
    throw notFound(catalog.clusters, cluster);
  return {
    metadata: ownWords(metadata),
    spec,
    status: statusOf(await review(new Secret(token), { cluster, audiences })),
  };
};

/** K-41: what is false is left out, and a user that is not known is an empty one. */
function statusOf(findings: TokenFindings): object {
  if (!findings.authenticated) return { user: {}, error: findings.error };
  const { user, audiences } = findings;
  return { authenticated: true, user: userInfo(user), ...(audiences.length === 0 ? {} : { audiences }) };
}

/** What the caller may say of an object comes back; what only a server can know of one does not. */
const ownWords = ({ name, generateName, labels, annotations }: ObjectMeta): ObjectMeta => ({
  ...(name === undefined ? {} : { name }),
  ...(generateName === undefined ? {} : { generateName }),
  ...(labels === undefined ? {} : { labels }),
  ...(annotations === undefined ? {} : { annotations }),
});
