import type { Caller } from '../../api/caller.ts';
import { type TokenRequest, tokenRequestType, USERPASS } from '../../api/kinds/token-request.ts';
import { quotaExceeded } from '../../api/quotas.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { quantity } from '../../lib/text.ts';
import { TokenBuckets } from '../../lib/token-buckets.ts';
import { parseTokenRequestOptions } from '../options/write-options.ts';
import { readBody } from '../write/read-body.ts';
import { type AccountTokenParts, accountToken } from './account-token.ts';
import { type PersonTokenParts, personToken } from './person-token.ts';
import { answerTokenRequest, type IssueToken, permissionOf } from './token-input.ts';

/**
 * Every token: for a TokenRequest, an item of a list, a token exchange and a redeemed pass. What may be issued and how
 * long it lasts is the same for all, and none leaves without its audit event.
 */
export function createIssueToken(parts: AccountTokenParts & PersonTokenParts & RateParts): IssueToken {
  const requireRate = createRateCheck(parts);
  return (input, grant) => {
    if (!input.dryRun) requireRate(input.request.caller);
    return input.request.target.subresource === USERPASS
      ? personToken(parts, input, grant)
      : accountToken(parts, input, grant);
  };
}

interface RateParts {
  /** Tokens that one flow may request a minute; 0: any number. */
  readonly maxPerMinute: number;
}

/** Every token is a line of the security log, which is kept for ever. Counted in this process, before all checks. */
function createRateCheck({ maxPerMinute: max }: RateParts): (caller: Caller) => void {
  if (max === 0) return () => {};
  const buckets = new TokenBuckets({ perSecond: max / 60, burst: max, now: () => performance.now() });
  return (caller) => {
    const { flow } = caller.impersonator ?? caller;
    if (buckets.tryTake(flow)) return;
    const why = `the caller has requested ${quantity(max, 'token')} within a minute, the most that are allowed`;
    throw quotaExceeded('tokens', why, buckets.waitMs(flow));
  };
}

/**
 * `create` of `serviceaccounts/token`, as in `POST
 * /orchestrator/{cluster}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token`, and of `clusters/userpass`.
 */
export const createTokenHandler =
  (issueToken: IssueToken): ((request: ApiRequest) => Promise<ApiResponse>) =>
  async (request) => {
    const { dryRun, fieldValidation } = parseTokenRequestOptions(request.query);
    const sent = readBody<TokenRequest>(request, tokenRequestType, fieldValidation);
    return answerTokenRequest(request, await issueToken({ request, sent, dryRun }, permissionOf(request)), sent);
  };
