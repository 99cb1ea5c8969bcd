import { clip, withoutTokenWords } from '../../lib/text.ts';
import { TokenBuckets } from '../../lib/token-buckets.ts';
import type { Logger } from '../../observability/logger.ts';

interface FailedAuthentication {
  readonly auditId: string;
  readonly address: string;
  /** Why, as the authenticator says: a text or an error. */
  readonly cause: unknown;
}

/** Of one address. A client that retries every second needs no more to be understood. */
const PER_ADDRESS = { perSecond: 0.1, burst: 5 };
/** Of all addresses together. */
const IN_TOTAL = { perSecond: 5, burst: 50 };
const MAX_REASON = 256;

/**
 * Logs why a credential was refused: the response says only that it was. The lines of an address, and of all together,
 * are limited; those that are left out are counted in the next one.
 */
export function createAuthenticationLog(
  logger: Pick<Logger, 'info'>,
  now: () => number,
): (failed: FailedAuthentication) => void {
  const addresses = new TokenBuckets({ ...PER_ADDRESS, now });
  const total = new TokenBuckets({ ...IN_TOTAL, now });
  let leftOut = 0;
  return ({ auditId, address, cause }) => {
    if (total.waitMs('') > 0 || !addresses.tryTake(address)) {
      leftOut += 1;
      return;
    }
    total.take('');
    logger.info(
      { auditId, address, reason: reasonOf(cause), ...(leftOut === 0 ? {} : { leftOut }) },
      'unauthenticated',
    );
    leftOut = 0;
  };
}

/** Quoted texts are parts of the token, e.g. its audiences: anyone can send them, and they may be anything. */
const QUOTED = /"(?:[^"\\]|\\.)*"/g;

function reasonOf(cause: unknown): string {
  const text =
    cause instanceof Error
      ? cause.message
      : typeof cause === 'string'
        ? cause
        : 'the credential has expired or was revoked';
  return clip(withoutTokenWords(text.slice(0, 4 * MAX_REASON).replaceAll(QUOTED, '"..."')), MAX_REASON);
}
