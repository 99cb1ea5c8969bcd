import type { IssuedToken } from '../../client/types.ts';

/** CP-99: how long before its expiry a token is replaced. Requests take time, and clocks differ. */
const MARGIN_SHARE = 0.2;
const MIN_MARGIN_MS = 30_000;
/** Of a token that does not live that long. */
const MAX_MARGIN_SHARE = 0.5;

/** When a token that has just been issued is replaced, by the clock of this machine. */
export function refreshTime(
  { expirationTimestamp, issuedAt }: Pick<IssuedToken, 'expirationTimestamp' | 'issuedAt'>,
  now: number,
): number {
  const lifetime = Date.parse(expirationTimestamp) - issuedAt;
  const margin = Math.min(Math.max(lifetime * MARGIN_SHARE, MIN_MARGIN_MS), lifetime * MAX_MARGIN_SHARE);
  return Math.floor(now + lifetime - margin);
}
