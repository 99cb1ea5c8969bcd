import { type TokenRequest, tokenRequestType, USERPASS } from '../../api/kinds/token-request.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { parseTokenRequestOptions } from '../options/write-options.ts';
import { readBody } from '../write/read-body.ts';
import { type AccountTokenParts, accountToken } from './account-token.ts';
import { answerTokenRequest } from './answer-token-request.ts';
import { type PersonTokenParts, personToken } from './person-token.ts';
import { type IssueToken, permissionOf } from './token-input.ts';

/**
 * Every token: for a TokenRequest, an item of a list, a token exchange and a redeemed pass. What may be issued and how
 * long it lasts is the same for all, and none leaves without its audit event.
 */
export const createIssueToken =
  (parts: AccountTokenParts & PersonTokenParts): IssueToken =>
  (input, grant) =>
    input.request.target.subresource === USERPASS
      ? personToken(parts, input, grant)
      : accountToken(parts, input, grant);

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
