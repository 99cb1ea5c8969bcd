import { toTimestamp } from '../../lib/utc-second.ts';
import type { Review } from './create-review.ts';
import { userInfo } from './user-info.ts';

/** Who the caller is, in a request like this one. */
export const reviewSelf: Review = ({ now }, { caller, target }) => ({
  metadata: { creationTimestamp: toTimestamp(now()) },
  status: { userInfo: userInfo(caller.as(target.cluster)) },
});
