import { toTimestamp } from '../../objects/prepare.ts';
import type { Review } from './create-review.ts';

/** Who the caller is, in a request like this one. What there is none of is left out. */
export const reviewSelf: Review = ({ now }, { caller, target }) => {
  const { name, uid, groups, extra } = caller.as(target.cluster);
  const userInfo = {
    username: name,
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
  return { metadata: { creationTimestamp: toTimestamp(now()) }, status: { userInfo } };
};
