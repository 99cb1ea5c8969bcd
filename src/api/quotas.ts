import { type ApiError, type StatusCause, tooManyRequests } from './status.ts';

/**
 * What one flow may take of what is stored, or kept for ever, and the option that sets how much. A flow is the person
 * behind a request; the service accounts of one cluster together are one flow, unless a tracked pass says who
 * requested it.
 */
export const QUOTAS = {
  tokens: '--max-tokens-per-minute-per-caller',
  trackedTokens: '--max-tracked-tokens-per-caller',
  revocations: '--max-revocations-per-caller',
  bootstrapTokens: '--max-bootstrap-tokens-per-caller',
  accessRequests: '--max-access-requests-per-caller',
  passes: '--pass-max-handles',
  pendingPasses: '--pass-max-pending',
} as const;

export type QuotaName = keyof typeof QUOTAS;

/** Clients of Kubernetes wait as long as `Retry-After` says, ten times: too long for a person. */
const MAX_RETRY_SECONDS = 60;

/** `waitMs`: how long until there is room. */
export function quotaExceeded(
  quota: QuotaName,
  why: string,
  waitMs: number,
  causes: readonly StatusCause[] = [],
): ApiError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const option = QUOTAS[quota];
  const cause = { reason: 'QuotaExceeded', message: quota, field: option };
  const retryAfter = seconds <= MAX_RETRY_SECONDS ? seconds : undefined;
  return tooManyRequests(`${why} (quota ${quota}, set by ${option})`, retryAfter, [cause, ...causes]);
}
