import { MASTERS } from '../api/caller.ts';
import type { SubjectAccessReviewStatus } from '../client/access-reviews.ts';

/**
 * Why an access review allows something to a user with these groups. The server evaluates no rule for members of
 * system:masters, so it gives no reason.
 */
export async function whyAllowed(
  { reason, evaluationError }: SubjectAccessReviewStatus,
  groups: () => Promise<readonly string[]>,
): Promise<string> {
  if (reason || evaluationError) return reason || evaluationError || '';
  return (await groups()).includes(MASTERS)
    ? `members of ${MASTERS} may do everything`
    : 'it is allowed, but no rule is named';
}
