import type { IssuedToken } from '../../client/types.ts';

/** How long before its expiry a token is replaced: requests take time, and clocks differ. */
const MAX_MARGIN_MS = 60_000;
const MARGIN_SHARE = 0.1;

/** When a token that has just been issued is replaced, by the clock of this machine. */
export function refreshTime({ expirationTimestamp, issuedAt }: IssuedToken, now: number): number {
  const lifetime = Date.parse(expirationTimestamp) - issuedAt;
  return Math.floor(now + lifetime - Math.min(MAX_MARGIN_MS, lifetime * MARGIN_SHARE));
}
