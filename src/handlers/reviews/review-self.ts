import { toTimestamp } from '../../lib/utc-second.ts';
import { type Review, userInfo } from './review.ts';

/** Who the caller is under this path. */
export const reviewSelf: Review = ({ now }, { caller, target }) => ({
  metadata: { creationTimestamp: toTimestamp(now()) },
  status: { userInfo: userInfo(caller.as(target.cluster)) },
});
